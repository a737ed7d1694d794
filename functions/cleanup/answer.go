package main

import "outboxrelay/internal/outbox"

// answer is what an invocation returns.
type answer struct {
	Deleted       int            `json:"deleted"`
	DeletedFailed int            `json:"deleted_failed"`
	Batches       int            `json:"batches"`
	Stopped       outbox.Stopped `json:"stopped"`
}

func newAnswer(report outbox.CleanupReport) answer {
	return answer{
		Deleted:       report.Deleted,
		DeletedFailed: report.DeletedFailed,
		Batches:       report.Batches,
		Stopped:       report.Stopped,
	}
}

// summary is the one line that a run writes to the log. A run that failed before
// it could stop has no reason to.
func summary(report outbox.CleanupReport) []any {
	fields := []any{
		"deleted", report.Deleted,
		"deleted_failed", report.DeletedFailed,
		"batches", report.Batches,
		"duration_ms", report.Duration.Milliseconds(),
	}
	if report.Stopped != "" {
		fields = append(fields, "stopped", report.Stopped)
	}
	return fields
}
