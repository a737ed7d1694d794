package main

import (
	"slices"
	"time"

	"outboxrelay/internal/emf"
	"outboxrelay/internal/outbox"
)

// metrics tells CloudWatch what a run did. There is a value for each metric
// also when there is nothing to report.
func metrics(report outbox.Report) []emf.Metric {
	return []emf.Metric{
		emf.One(emf.EventsPublished, emf.Count, float64(report.Published)),
		emf.One(emf.EventsFailed, emf.Count, float64(report.Failed)),
		emf.One(emf.EventsDeferred, emf.Count, float64(report.Deferred)),
		{Name: emf.PublishLatency, Unit: emf.Milliseconds, Values: spread(report.Latencies)},
		{Name: emf.BatchDuration, Unit: emf.Milliseconds, Values: spread(report.BatchDurations)},
	}
}

// spreadMax is what a line of metrics holds of one.
const spreadMax = 100

// spread reduces durations to at most a hundred that stand for them, in
// milliseconds: evenly spaced by rank, with the least and the greatest.
func spread(durations []time.Duration) []float64 {
	if len(durations) == 0 {
		return []float64{0}
	}
	sorted := slices.Sorted(slices.Values(durations))
	n := min(len(sorted), spreadMax)
	values := make([]float64, n)
	for i := range values {
		rank := 0
		if n > 1 {
			rank = i * (len(sorted) - 1) / (n - 1)
		}
		values[i] = float64(sorted[rank].Microseconds()) / 1000
	}
	return values
}
