package main

import (
	"time"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/wire"
)

// answer is what every action but status returns.
type answer struct {
	Matched int     `json:"matched"`
	Changed int     `json:"changed"`
	Events  []event `json:"events"`
	// Kept are the numbers of events that something in the database kept from
	// being changed.
	Kept []int64 `json:"kept,omitempty"`
}

// event is a failed event. What it carries is not for an answer.
type event struct {
	Seq           int64  `json:"seq"`
	ID            string `json:"id,omitempty"`
	EventType     string `json:"event_type,omitempty"`
	AggregateType string `json:"aggregate_type,omitempty"`
	AggregateID   string `json:"aggregate_id,omitempty"`
	Topic         string `json:"topic,omitempty"`
	Source        string `json:"source,omitempty"`
	CreatedAt     string `json:"created_at,omitempty"`
	FailedAt      string `json:"failed_at,omitempty"`
	ErrorCode     string `json:"error_code"`
	ErrorMessage  string `json:"error_message"`
	Attempts      int    `json:"attempts"`
	TimesFailed   int    `json:"times_failed"`
}

// statusAnswer is what status returns.
type statusAnswer struct {
	*wire.LagAnswer // left out where there is none

	LagError    string      `json:"lag_error,omitempty"`
	PausedBuses []pausedBus `json:"paused_buses"`
	FailedBy    []failedBy  `json:"failed_by"`
}

type pausedBus struct {
	Topic  string `json:"topic"`
	Reason string `json:"reason,omitempty"`
	Since  string `json:"since,omitempty"`
}

type failedBy struct {
	ErrorCode string `json:"error_code"`
	Count     int    `json:"count"`
}

func newAnswer(result outbox.AdminResult) answer {
	events := make([]event, len(result.Events)) // none is [], not null
	for i, e := range result.Events {
		events[i] = event{
			Seq:           e.Seq,
			ID:            e.ID,
			EventType:     e.Type,
			AggregateType: e.AggregateType,
			AggregateID:   e.AggregateID,
			Topic:         e.Topic,
			Source:        e.Source,
			CreatedAt:     written(e.CreatedAt),
			FailedAt:      written(e.FailedAt),
			ErrorCode:     e.ErrorCode,
			ErrorMessage:  e.ErrorMessage,
			Attempts:      e.Attempts,
			TimesFailed:   e.TimesFailed,
		}
	}
	return answer{Matched: result.Matched, Changed: result.Changed, Events: events, Kept: result.Kept}
}

func newStatusAnswer(status outbox.Status) statusAnswer {
	answer := statusAnswer{
		PausedBuses: make([]pausedBus, len(status.Paused)),
		FailedBy:    make([]failedBy, len(status.FailedBy)),
	}
	if status.LagError != nil {
		answer.LagError = status.LagError.Error()
	} else {
		lag := wire.NewLagAnswer(status.Lag)
		answer.LagAnswer = &lag
	}
	for i, p := range status.Paused {
		answer.PausedBuses[i] = pausedBus{p.Bus, p.Reason, written(p.Since)}
	}
	for i, f := range status.FailedBy {
		answer.FailedBy[i] = failedBy{f.ErrorCode, f.Count}
	}
	return answer
}

// written is a time as events have it: RFC 3339 in UTC with microseconds. A time
// that is none is left out of an answer.
func written(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z07:00")
}
