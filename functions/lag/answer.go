package main

import (
	"outboxrelay/internal/emf"
	"outboxrelay/internal/wire"
)

// metrics tells CloudWatch what was measured. There is a value for each metric
// also when there is nothing to report.
func metrics(measured wire.LagAnswer) []emf.Metric {
	return []emf.Metric{
		emf.One(emf.OldestUnpublishedAge, emf.Seconds, measured.OldestUnpublishedAgeSeconds),
		emf.One(emf.UnpublishedEvents, emf.Count, float64(measured.Unpublished)),
		emf.One(emf.FailedEvents, emf.Count, float64(measured.Failed)),
		emf.One(emf.PausedEvents, emf.Count, float64(measured.Paused)),
		emf.One(emf.OldestPublishedAge, emf.Seconds, measured.OldestPublishedAgeSeconds),
		emf.One(emf.DeadRows, emf.Count, float64(measured.DeadRows)),
		emf.One(emf.OldestTransactionAge, emf.Seconds, measured.OldestTransactionAgeSeconds),
	}
}
