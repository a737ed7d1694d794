package config

import "log/slog"

// Common is what every function reads.
type Common struct {
	Database Database
	Outbox   Outbox
	LogLevel slog.Level
}

// common also looks for keys that are none: the environment of a function has
// nothing else that begins as ours do.
func (r *reader) common() Common {
	r.checkKeys()
	return Common{Database: r.database(), Outbox: r.outbox(), LogLevel: r.logLevel()}
}
