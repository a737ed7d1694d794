package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// What AWS takes as tags.
const (
	tagsMax     = 50
	tagKeyMax   = 128
	tagValueMax = 256
)

// tagText is what keys and values are made of.
var tagText = regexp.MustCompile(`^[\p{L}\p{N}\p{Zs}_.:/=+@-]*$`)

// validateTags returns what AWS would refuse, half-way through a deployment.
func validateTags(tags map[string]string) (problems []error) {
	if len(tags) > tagsMax {
		problems = append(problems, fmt.Errorf("tags has %d keys: expected at most %d", len(tags), tagsMax))
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if expected := tagProblem(key, tags[key]); expected != "" {
			problems = append(problems, fmt.Errorf("tags has %q, which is %q: expected %s", key, tags[key], expected))
		}
	}
	return problems
}

// tagProblem says what is expected instead; empty: nothing is wrong.
func tagProblem(key, value string) string {
	switch {
	case key == "" || utf8.RuneCountInString(key) > tagKeyMax:
		return fmt.Sprintf("a key of 1 to %d characters", tagKeyMax)
	case strings.HasPrefix(strings.ToLower(key), "aws:"):
		return "a key that does not begin with aws:, which is reserved"
	case utf8.RuneCountInString(value) > tagValueMax:
		return fmt.Sprintf("a value of at most %d characters", tagValueMax)
	case !tagText.MatchString(key) || !tagText.MatchString(value):
		return "letters, digits, blanks and _.:/=+-@"
	}
	return ""
}
