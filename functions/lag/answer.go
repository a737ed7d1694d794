package main

import (
	"outboxrelay/internal/emf"
	"outboxrelay/internal/outbox"
	"outboxrelay/internal/wire"
)

// metrics tells CloudWatch what was measured. There is a value for each metric
// also when there is nothing to report.
func metrics(lag outbox.Lag) []emf.Metric {
	return []emf.Metric{
		emf.One("OldestUnpublishedAge", emf.Seconds, wire.Seconds(lag.OldestUnpublishedAge)),
		emf.One("UnpublishedEvents", emf.Count, float64(lag.Unpublished)),
		emf.One("FailedEvents", emf.Count, float64(lag.Failed)),
		emf.One("PausedEvents", emf.Count, float64(lag.Paused)),
		emf.One("OldestPublishedAge", emf.Seconds, wire.Seconds(lag.OldestPublishedAge)),
		emf.One("DeadRows", emf.Count, float64(lag.DeadRows)),
		emf.One("OldestTransactionAge", emf.Seconds, wire.Seconds(lag.OldestTransactionAge)),
	}
}

// summary is the one line that a measurement writes to the log.
func summary(lag outbox.Lag) []any {
	answer := wire.NewLagAnswer(lag)
	return []any{
		"oldest_unpublished_age_seconds", answer.OldestUnpublishedAgeSeconds,
		"unpublished", answer.Unpublished,
		"unpublished_is_lower_bound", answer.UnpublishedIsLowerBound,
		"failed", answer.Failed,
		"paused", answer.Paused,
		"oldest_published_age_seconds", answer.OldestPublishedAgeSeconds,
		"dead_rows", answer.DeadRows,
		"oldest_transaction_age_seconds", answer.OldestTransactionAgeSeconds,
	}
}
