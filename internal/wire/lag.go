package wire

import (
	"time"

	"outboxrelay/internal/outbox"
)

// LagAnswer is the JSON form of a lag.
type LagAnswer struct {
	OldestUnpublishedAgeSeconds float64 `json:"oldest_unpublished_age_seconds"`
	Unpublished                 int     `json:"unpublished"`
	UnpublishedIsLowerBound     bool    `json:"unpublished_is_lower_bound"`
	Failed                      int     `json:"failed"`
	Paused                      int     `json:"paused"`
	OldestPublishedAgeSeconds   float64 `json:"oldest_published_age_seconds"`
	DeadRows                    int64   `json:"dead_rows"`
	OldestTransactionAgeSeconds float64 `json:"oldest_transaction_age_seconds"`
}

// NewLagAnswer puts a lag into its JSON form.
func NewLagAnswer(lag outbox.Lag) LagAnswer {
	return LagAnswer{
		OldestUnpublishedAgeSeconds: Seconds(lag.OldestUnpublishedAge),
		Unpublished:                 lag.Unpublished,
		UnpublishedIsLowerBound:     lag.UnpublishedIsLowerBound,
		Failed:                      lag.Failed,
		Paused:                      lag.Paused,
		OldestPublishedAgeSeconds:   Seconds(lag.OldestPublishedAge),
		DeadRows:                    lag.DeadRows,
		OldestTransactionAgeSeconds: Seconds(lag.OldestTransactionAge),
	}
}

// Seconds is a duration as answers and metrics have it: to the millisecond.
func Seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
