package config

import "time"

// Relay is what the function relay reads.
type Relay struct {
	Common

	EventBridge EventBridge

	BatchSize       int           // rows of a batch
	BatchBytes      int           // bytes of text of a batch
	Workers         int           // claiming, each with a connection
	Concurrency     int           // PutEvents calls in flight
	MaxRate         int           // events a second; 0: no limit
	Reserve         time.Duration // kept free before the deadline
	PollInterval    time.Duration // 0: return once drained
	Parallel        int           // polling runs that are to be at work at once
	FrontScanMax    time.Duration // at most so long between scans from the front
	RetryBase       time.Duration // the first pause of an entry that failed
	RetryMax        time.Duration // the longest
	MaxAttempts     int           // of an entry that fails for a reason unknown
	DeletePublished bool          // RELAY_ON_PUBLISHED=delete
}

// ForRelay reads the settings of the function relay from an environment in the
// form of os.Environ. The error names every problem.
func ForRelay(environ []string) (Relay, error) {
	r := newReader(environ)
	relay := Relay{
		Common:      r.common(),
		EventBridge: r.eventBridge(),

		BatchSize:       r.integer("RELAY_BATCH_SIZE", 500, 1, 10_000),
		BatchBytes:      r.integer("RELAY_BATCH_BYTES", 4<<20, 1024, 128<<20),
		Workers:         r.integer("RELAY_WORKERS", 4, 1, 64),
		Concurrency:     r.integer("RELAY_CONCURRENCY", 64, 1, 1024),
		MaxRate:         r.integer("RELAY_MAX_RATE", 0, 0, 1_000_000),
		Reserve:         r.duration("RELAY_RESERVE", 5*time.Second, time.Second, 5*time.Minute),
		PollInterval:    r.pollInterval(),
		Parallel:        r.integer("RELAY_PARALLEL", 1, 1, 64),
		FrontScanMax:    r.duration("RELAY_FRONT_SCAN_MAX", 5*time.Second, time.Millisecond, 15*time.Minute),
		RetryBase:       r.duration("RELAY_RETRY_BASE", time.Second, time.Millisecond, 24*time.Hour),
		RetryMax:        r.duration("RELAY_RETRY_MAX", 5*time.Minute, time.Millisecond, 24*time.Hour),
		MaxAttempts:     r.integer("RELAY_MAX_ATTEMPTS", 50, 1, 1_000_000),
		DeletePublished: r.oneOf("RELAY_ON_PUBLISHED", "mark", "mark", "delete") == "delete",
	}
	if r.sound("RELAY_RETRY_BASE", "RELAY_RETRY_MAX") && relay.RetryBase > relay.RetryMax {
		r.report("RELAY_RETRY_BASE", "is %s: expected at most RELAY_RETRY_MAX, which is %s", Brief(relay.RetryBase), Brief(relay.RetryMax))
	}
	r.refuseUnsupported()
	return relay, r.err()
}

func (r *reader) pollInterval() time.Duration {
	interval := r.duration("RELAY_POLL_INTERVAL", 0, 0, 15*time.Minute)
	if interval > 0 && interval < 10*time.Millisecond {
		r.reject("RELAY_POLL_INTERVAL", "0s or at least 10ms")
	}
	return interval
}

// refuseUnsupported names the settings of the contract that this version does
// not have: to accept them without effect would break what they promise.
func (r *reader) refuseUnsupported() {
	const later = "not supported yet in this version"
	if r.boolean("RELAY_LISTEN", false) {
		r.report("RELAY_LISTEN", "is true: %s (RELAY_POLL_INTERVAL keeps a run polling)", later)
	}
	if r.oneOf("RELAY_ORDERING", "none", "none", "aggregate") == "aggregate" {
		r.report("RELAY_ORDERING", "is aggregate: %s, expected none", later)
	}
	if r.oneOf("RELAY_ON_POISON", "continue", "continue", "hold") == "hold" {
		r.report("RELAY_ON_POISON", "is hold: %s, expected continue", later)
	}
	r.integer("RELAY_SLOTS", 16, 1, 1024)
}
