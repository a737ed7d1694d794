package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"outboxrelay/internal/outbox"
)

// function is the relay in its sandbox. It is built by the first invocation
// that succeeds in building it, and kept.
type function struct {
	environ []string
	out     io.Writer
	parts   *parts
}

// answer is what an invocation returns.
type answer struct {
	Published  int            `json:"published"`
	Failed     int            `json:"failed"`
	Deferred   int            `json:"deferred"`
	Batches    int            `json:"batches"`
	Stopped    outbox.Stopped `json:"stopped"`
	DurationMS int64          `json:"duration_ms"`
}

// handle runs the relay once, whatever the event is.
func (f *function) handle(ctx context.Context, _ json.RawMessage) (answer, error) {
	if f.parts == nil {
		parts, err := build(ctx, f.environ, f.out)
		if err != nil {
			return answer{}, &RelayError{cause: err}
		}
		f.parts = parts
	}
	report, err := f.parts.relay.Run(ctx)
	f.parts.emit(time.Now(), report)
	f.parts.log.InfoContext(ctx, "run ended", summary(report)...)
	if err != nil {
		return answer{}, &RelayError{report: report, cause: err}
	}
	return newAnswer(report), nil
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

// summary is the one line that a run writes to the log.
func summary(report outbox.Report) []any {
	return []any{
		"published", report.Published,
		"failed", report.Failed,
		"deferred", report.Deferred,
		"batches", report.Batches,
		"stopped", report.Stopped,
		"duration_ms", report.Duration.Milliseconds(),
	}
}
