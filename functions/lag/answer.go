package main

import (
	"outboxrelay/internal/emf"
	"outboxrelay/internal/wire"
)

// metrics tells CloudWatch what was measured. There is a value for each metric
// also when there is nothing to report.
func metrics(measured wire.LagAnswer) []emf.Metric {
	return []emf.Metric{
		emf.One("OldestUnpublishedAge", emf.Seconds, measured.OldestUnpublishedAgeSeconds),
		emf.One("UnpublishedEvents", emf.Count, float64(measured.Unpublished)),
		emf.One("FailedEvents", emf.Count, float64(measured.Failed)),
		emf.One("PausedEvents", emf.Count, float64(measured.Paused)),
		emf.One("OldestPublishedAge", emf.Seconds, measured.OldestPublishedAgeSeconds),
		emf.One("DeadRows", emf.Count, float64(measured.DeadRows)),
		emf.One("OldestTransactionAge", emf.Seconds, measured.OldestTransactionAgeSeconds),
	}
}
