package config

import "log/slog"

// Common is what every function reads.
type Common struct {
	Database Database
	Outbox   Outbox
	LogLevel slog.Level
}

func (r *reader) common() Common {
	return Common{Database: r.database(), Outbox: r.outbox(), LogLevel: r.logLevel()}
}
