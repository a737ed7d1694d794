package outboxcdk

import (
	"cmp"
	"errors"
	"slices"
	"strings"

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
// that what it would refuse is refused before the deployment. What is refused is
// said as config says it, and once if by several functions. Where something is,
// there is its default.
func (p Props) read() (s settings, refused []string) {
	note := func(err error) {
		if wrong, ok := errors.AsType[*config.Error](err); ok {
			refused = append(refused, wrong.Problems...)
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
	slices.Sort(refused)
	return s, slices.Compact(refused)
}

// functions passes on what the functions would refuse, by the names of settings.
func (c *checker) functions(refused []string) {
	for _, problem := range refused {
		key, rest, _ := strings.Cut(problem, " ")
		c.report(cmp.Or(Instead(key), key), "%s", rest)
	}
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
