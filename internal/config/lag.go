package config

// Lag is what the functions lag and admin read.
type Lag struct {
	Common

	Bus        string // of rows without topic, which may be a paused one
	CountLimit int    // counts of rows stop here
}

// ForLag reads the settings of the function lag from an environment in the form
// of os.Environ. The error names every problem.
func ForLag(environ []string) (Lag, error) {
	r := newReader(environ)
	lag := Lag{
		Common: r.common(),

		Bus:        r.eventBus(),
		CountLimit: r.integer("LAG_COUNT_LIMIT", 100_000, 1, 10_000_000),
	}
	return lag, r.err()
}

// ForAdmin reads the settings of the function admin. Its status measures what
// the function lag does, by the same settings.
func ForAdmin(environ []string) (Lag, error) { return ForLag(environ) }
