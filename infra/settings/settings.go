// Package settings reads what a deployment is to be: from the CDK's context (-c
// key=value) and from a JSON file. Every setting is declared once, with its
// default and its meaning; the table in the documentation is made from that.
package settings

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"outboxrelay/infra/outboxcdk"
)

// Settings are those of the app.
type Settings struct {
	// StackName tells the stacks of an account and Region apart.
	StackName string
	// Tags are the stack's, which CloudFormation gives to all in it.
	Tags  map[string]string
	Props outboxcdk.Props
}

// fileKey is the context's key for the file to read; standardFile is read without it.
const (
	fileKey      = "settings"
	standardFile = "settings.json"
)

// Read reads the file first and then the context, which has the last word. The
// error has a line for each problem, by the setting's name.
func Read(context map[string]any) (Settings, error) {
	s := defaults()
	values, err := given(context)
	if err != nil {
		return s, err
	}
	var problems []error
	sections := s.sections()
	foreign := foreign(context, keys(sections))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !foreign[key] {
			problems = append(problems, s.set(sections, key, values[key]))
		}
	}
	problems = append(problems, s.validate(), s.Props.Validate())
	return s, errors.Join(problems...)
}

func defaults() Settings {
	return Settings{StackName: "OutboxRelay", Tags: map[string]string{}, Props: outboxcdk.NewProps()}
}

var stackName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,127}$`)

func (s *Settings) validate() error {
	var problems []error
	if !stackName.MatchString(s.StackName) {
		problems = append(problems, fmt.Errorf("stackName is %q: expected a letter, and up to 127 letters, digits and hyphens", s.StackName))
	}
	return errors.Join(append(problems, validateTags(s.Tags)...)...)
}
