package config

import "time"

// Cleanup is what the function cleanup reads.
type Cleanup struct {
	Common

	Retention       time.Duration // published events are kept for so long
	FailedRetention time.Duration // failed events are kept for so long; 0: for ever
	BatchSize       int           // rows deleted in one transaction, at most
	Pause           time.Duration // between two of them
}

// century bounds retentions: what is to be kept for ever needs no cleanup.
const century = 100 * 365 * 24 * time.Hour

// ForCleanup reads the settings of the function cleanup from an environment in
// the form of os.Environ. The error names every problem.
func ForCleanup(environ []string) (Cleanup, error) {
	r := newReader(environ)
	cleanup := Cleanup{
		Common: r.common(),

		Retention:       r.retention(),
		FailedRetention: r.duration("CLEANUP_FAILED_RETENTION", 0, 0, century),
		BatchSize:       r.integer("CLEANUP_BATCH_SIZE", 1000, 1, 100_000),
		Pause:           r.duration("CLEANUP_PAUSE", 50*time.Millisecond, 0, time.Minute),
	}
	return cleanup, r.err()
}

func (r *reader) retention() time.Duration {
	return r.duration("CLEANUP_RETENTION", 7*24*time.Hour, 0, century)
}
