package outboxcdk

import (
	"time"

	"outboxrelay/internal/config"
)

// function is the size of the one of a name.
func (p Props) function(name string) Function {
	return map[string]Function{
		"relay": p.Relay.Function, "cleanup": p.Cleanup, "lag": p.Lag, "migrate": p.Migrate.Function, "admin": p.Admin,
	}[name]
}

func (c *checker) sizes(p Props) {
	for _, name := range functionNames {
		f := p.function(name)
		if f.MemoryMB < 128 || f.MemoryMB > 10240 {
			c.report(name+"MemoryMb", "is %d: expected from 128 to 10240", f.MemoryMB)
		}
		derived := name == "relay" && f.Timeout == 0
		if !derived && (f.Timeout < time.Second || f.Timeout > maxTimeout || f.Timeout%time.Second != 0) {
			c.report(name+"Timeout", "is %s: expected whole seconds from 1s to %s", config.Brief(f.Timeout), config.Brief(maxTimeout))
		}
		if name != "admin" && (f.Every < time.Minute || f.Every > 24*time.Hour || f.Every%time.Minute != 0) {
			c.report(name+"Every", "is %s: expected whole minutes from 1m to 24h", config.Brief(f.Every))
		}
	}
	c.migrateTimeout(p.Migrate)
}

func (c *checker) migrateTimeout(m Migrate) {
	if m.AtDeploy && m.Timeout >= triggerTimeout && m.Timeout <= maxTimeout {
		c.report("migrateTimeout", "is %s: expected at most %s with migrateAtDeploy, since the deployment waits %s",
			config.Brief(m.Timeout), config.Brief(triggerTimeout-time.Minute), config.Brief(triggerTimeout))
	}
}
