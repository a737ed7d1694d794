package config

import "log/slog"

// Common is what every function reads.
type Common struct {
	Database Database
	Outbox   Outbox
	LogLevel slog.Level
	// MemoryMB is the function's memory, as Lambda tells it; 0: it does not.
	MemoryMB int
	// MemoryLimited: GOMEMLIMIT sets a limit, which Go observes by itself.
	MemoryLimited bool
}

// common also looks for keys that are none: the environment of a function has
// nothing else that begins as ours do.
func (r *reader) common() Common {
	r.checkKeys()
	return Common{
		Database:      r.database(),
		Outbox:        r.outbox(),
		LogLevel:      r.logLevel(),
		MemoryMB:      r.integer("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", 0, 0, 1<<20),
		MemoryLimited: r.optional("GOMEMLIMIT") != "",
	}
}
