package settings

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"outboxrelay/internal/config"
)

// foreign are the keys of the context that are somebody else's, and are left
// alone: the CDK's feature flags, what it has looked up, what its command line
// keeps there (each has a character that no setting has), and what a person has
// for all apps in ~/.cdk.json. A key that is as good as one of ours is not: a typo
// would be a setting that silently has no effect.
func foreign(context map[string]any, ours []string) map[string]bool {
	personal, found := personalContext(), map[string]bool{}
	for key := range context {
		_, isPersonal := personal[key]
		if (isPersonal || strings.ContainsAny(key, "@:/-")) && config.Suggest(key, ours) == "" {
			found[key] = true
		}
	}
	return found
}

// personalContext is that of ~/.cdk.json, which the command line has merged into
// the app's. One that cannot be read is none: the command line has said so.
func personalContext() map[string]any {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	content, err := os.ReadFile(filepath.Join(home, ".cdk.json"))
	if err != nil {
		return nil
	}
	var file struct{ Context map[string]any }
	_ = json.Unmarshal(content, &file)
	return file.Context
}
