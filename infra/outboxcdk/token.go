package outboxcdk

import "strings"

// isToken reports whether a text is not known before the deployment. (Asking the
// CDK would start its Node.js process, which Validate does without.)
func isToken(text string) bool {
	return strings.Contains(text, "${Token[") || strings.Contains(text, "#{Token[")
}
