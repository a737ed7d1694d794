package outboxcdk

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// Validate returns everything that is wrong with the props, a line for each
// problem, by the names that settings have: databaseSecretArn is
// Database.SecretArn, and so on.
func (p Props) Validate() error {
	c := &checker{}
	c.outbox(p)
	c.binaries(p)
	c.retention(p.LogRetentionDays)
	c.database(p.Database)
	c.network(p.Network)
	c.bus(p.Bus)
	c.sizes(p)
	c.alarms(p.Alarms)
	c.environment(p)
	read, refused := p.read()
	c.functions(refused)
	c.relay(p, read, refused)
	c.alarmLag(p, read, refused)
	c.regions(p)
	return errors.Join(c.problems...)
}

// checker collects problems.
type checker struct{ problems []error }

// add notes a problem; nil is none.
func (c *checker) add(err error) {
	if err != nil {
		c.problems = append(c.problems, err)
	}
}

// report notes a problem with a setting.
func (c *checker) report(setting, format string, args ...any) {
	c.add(errors.New(setting + " " + fmt.Sprintf(format, args...)))
}

// match notes a problem with a text that is given, known and not as it has to be.
func (c *checker) match(setting, text string, pattern *regexp.Regexp, expected string) {
	if text != "" && !isToken(text) && !pattern.MatchString(text) {
		c.report(setting, "is %q: expected %s", text, expected)
	}
}

// once notes what a list has twice. (A token may be a list's.)
func (c *checker) once(setting string, texts []string) {
	for i, text := range texts {
		if !isToken(text) && slices.Index(texts, text) < i {
			c.report(setting, "has %s twice: expected each of them once", text)
		}
	}
}

// unset notes a setting that means nothing, for want of another or because of
// another.
func (c *checker) unset(setting string, given bool, reason string) {
	if given {
		c.report(setting, "is set: expected it not to be %s", reason)
	}
}
