package outboxcdk

import (
	"errors"
	"slices"

	"outboxrelay/internal/config"
)

// settings are what the functions will read from their environment.
type settings struct {
	relay   config.Relay
	cleanup config.Cleanup
	lag     config.Lag
	migrate config.Migrate
	admin   config.Lag
}

// read reads the environment of each function as the function itself will, so
// that what it would refuse is refused before the deployment. A problem that
// several have is named once.
func (p Props) read() (settings, error) {
	var s settings
	var problems []string
	note := func(err error) {
		if refused, ok := errors.AsType[*config.Error](err); ok {
			problems = append(problems, refused.Problems...)
		}
	}
	var err error
	s.relay, err = config.ForRelay(p.environ("relay"))
	note(err)
	s.cleanup, err = config.ForCleanup(p.environ("cleanup"))
	note(err)
	s.lag, err = config.ForLag(p.environ("lag"))
	note(err)
	s.migrate, err = config.ForMigrate(p.environ("migrate"))
	note(err)
	s.admin, err = config.ForAdmin(p.environ("admin"))
	note(err)
	slices.Sort(problems)
	return s, joinTexts(slices.Compact(problems))
}

func joinTexts(texts []string) error {
	var errs []error
	for _, text := range texts {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// environ is the environment of a function in the form of os.Environ. What is
// checked elsewhere, and may be unknown before the deployment, has a stand-in.
func (p Props) environ(function string) []string {
	environment := p.environment(function)
	if p.Database.IamAuth {
		environment["PGHOST"], environment["PGUSER"] = "known.later", "known_later"
	} else {
		environment["DATABASE_SECRET_ARN"] = "arn:aws:secretsmanager:us-east-1:123456789012:secret:known-later"
	}
	environment["EVENT_BUS"] = "known-later"
	var environ []string
	for key, text := range environment {
		if !isToken(text) {
			environ = append(environ, key+"="+text)
		}
	}
	return environ
}
