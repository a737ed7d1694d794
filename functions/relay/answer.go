package main

import "outboxrelay/internal/outbox"

// answer is what an invocation returns.
type answer struct {
	Published  int            `json:"published"`
	Failed     int            `json:"failed"`
	Deferred   int            `json:"deferred"`
	Batches    int            `json:"batches"`
	Stopped    outbox.Stopped `json:"stopped"`
	DurationMS int64          `json:"duration_ms"`
}

func newAnswer(report outbox.Report) answer {
	return answer{
		Published:  report.Published,
		Failed:     report.Failed,
		Deferred:   report.Deferred,
		Batches:    report.Batches,
		Stopped:    report.Stopped,
		DurationMS: report.Duration.Milliseconds(),
	}
}

// summary is the one line that a run writes to the log. A run that failed before
// it could stop has no reason to.
func summary(report outbox.Report) []any {
	fields := []any{
		"published", report.Published,
		"failed", report.Failed,
		"deferred", report.Deferred,
		"batches", report.Batches,
		"duration_ms", report.Duration.Milliseconds(),
	}
	if report.Stopped != "" {
		fields = append(fields, "stopped", report.Stopped)
	}
	if report.HandedOver {
		fields = append(fields, "handed_over", true)
	}
	return fields
}
