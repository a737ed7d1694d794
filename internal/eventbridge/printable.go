package eventbridge

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const maxMessage = 1000 // bytes

// quotedValue is how AWS's validation quotes what it refuses: the entries, with their details.
var quotedValue = regexp.MustCompile(`(?s)Value '.*' at '`)

// printable makes a text of the service fit for a log and for a text column: no payload in it, no more than it takes to
// understand it, valid UTF-8 without NUL, which PostgreSQL refuses.
func printable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	text = quotedValue.ReplaceAllString(text, "Value '...' at '")
	text = withoutObjects(text)
	return truncated(text, maxMessage)
}

// withoutObjects takes out what may be a detail: an object, whole or cut off.
func withoutObjects(text string) string {
	before, rest, found := strings.Cut(text, "{")
	if !found {
		return text
	}

	after := ""
	if last := strings.LastIndexByte(rest, '}'); last >= 0 {
		after = rest[last+1:]
	}
	return before + "{...}" + after
}

func truncated(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "..."
}
