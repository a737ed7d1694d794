package config

import "time"

// Migrate is what the function migrate reads.
type Migrate struct {
	Common

	PartitionInterval string        // day, week or month; empty: the table has no partitions of ours
	PartitionAhead    int           // partitions to have ready for the time to come
	Retention         time.Duration // a partition of events that were all published longer ago is dropped
}

// ForMigrate reads the settings of the function migrate from an environment in
// the form of os.Environ. The error names every problem.
func ForMigrate(environ []string) (Migrate, error) {
	r := newReader(environ)
	migrate := Migrate{
		Common: r.common(),

		PartitionAhead: r.integer("PARTITION_AHEAD", 3, 1, 100),
		Retention:      r.retention(),
	}
	if r.optional("PARTITION_INTERVAL") != "" {
		migrate.PartitionInterval = r.oneOf("PARTITION_INTERVAL", "", "day", "week", "month")
	}
	return migrate, r.err()
}
