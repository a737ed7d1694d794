package settings

import (
	"flag"
	"fmt"
	"slices"

	"outboxrelay/infra/outboxcdk"
	"outboxrelay/internal/config"
)

// set sets one setting, or one key of the functions' environment, also such that a
// setting stands for: that it does is said with all that is wrong with the props.
func (s *Settings) set(sections []*flag.FlagSet, key string, value any) error {
	text, err := text(value)
	if err != nil {
		return fmt.Errorf("%s %w", key, err)
	}
	for _, section := range sections {
		if setting := section.Lookup(key); setting != nil {
			return setFlag(setting, text)
		}
	}
	if slices.Contains(config.Keys(), key) || slices.Contains(outboxcdk.FurtherKeys(), key) || outboxcdk.Instead(key) != "" {
		s.Props.Environment[key] = text
		return nil
	}
	return fmt.Errorf("%s is no setting%s", key, config.Suggest(key, keys(sections)))
}

// keys are all that there are; those that are suggested first come first.
func keys(sections []*flag.FlagSet) (all []string) {
	for _, section := range sections {
		section.VisitAll(func(setting *flag.Flag) { all = append(all, setting.Name) })
	}
	return slices.Concat(all, config.Keys(), outboxcdk.FurtherKeys())
}
