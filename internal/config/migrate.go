package config

import "time"

// Migrate is what the function migrate reads.
type Migrate struct {
	Common

	PartitionInterval string        // day, week or month; empty: the table has no partitions of ours
	PartitionAhead    int           // partitions to have ready for the time to come
	Retention         time.Duration // a partition of events that were all published longer ago is dropped
}

// off is no interval.
const off = "off"

// ForMigrate reads the settings of the function migrate from an environment in
// the form of os.Environ. The error names every problem.
func ForMigrate(environ []string) (Migrate, error) {
	r := newReader(environ)
	migrate := Migrate{
		Common: r.common(),

		PartitionAhead: r.integer("PARTITION_AHEAD", 3, 1, 100),
		Retention:      r.retention(),
	}
	if interval := r.oneOf("PARTITION_INTERVAL", off, off, "day", "week", "month"); interval != off {
		migrate.PartitionInterval = interval
	}
	return migrate, r.err()
}
