package outbox

import (
	"context"
	"errors"
	"time"
)

// ErrUncertain marks the error of a change of which it is not known whether it
// was committed.
var ErrUncertain = errors.New("it is not known whether the change was committed: list or status shows it")

// AdminStore is where the failed events and the pauses are.
type AdminStore interface {
	// Connect opens a session, with a time limit of its own.
	Connect(ctx context.Context) (AdminSession, error)
}

// AdminSession is one connection, for one action. What an action changes is one
// transaction. Every error ends the session: only Close may follow.
type AdminSession interface {
	// Find returns the selected events, at most Limit, in the order of Seq. To
	// change locks them, until Redrive, Discard or Close.
	Find(ctx context.Context, selection Selection, toChange bool) (Found, error)

	// Redrive moves locked events back into the outbox, commits, and returns
	// those that the outbox has taken.
	Redrive(ctx context.Context, seqs []int64) ([]int64, error)

	// Discard deletes locked events, commits, and returns those that are gone.
	Discard(ctx context.Context, seqs []int64) ([]int64, error)

	// Pause makes claims leave a bus out, or all ("*"). An empty reason is none.
	Pause(ctx context.Context, bus, reason string) (AdminResult, error)

	// Resume ends a pause, and returns whether there was one, and those that
	// are left.
	Resume(ctx context.Context, bus string) (bool, []PausedBus, error)

	// Overview returns the paused buses, and how many events have failed for the
	// most frequent codes, of CountMost events at most.
	Overview(ctx context.Context) ([]PausedBus, []FailedBy, error)

	// Close ends the session and what it has not committed. It takes no longer
	// than the context.
	Close(ctx context.Context)
}

// Found is what a selection selects.
type Found struct {
	Events  []FailedEvent
	Matched int // also beyond the limit; at most CountMost

	Missing []string // ids of the selection that no failed event has
}

// FailedEvent is a line of the failed table without what the event carries.
// Texts are cut; what is NULL there is empty or zero here.
type FailedEvent struct {
	Seq           int64
	ID            string
	Type          string
	AggregateType string
	AggregateID   string
	Topic         string
	Source        string
	CreatedAt     time.Time
	FailedAt      time.Time
	ErrorCode     string
	ErrorMessage  string
	Attempts      int
	TimesFailed   int
}

// PausedBus is one that the relay leaves alone.
type PausedBus struct {
	Bus    string // name or ARN; *: all of them
	Reason string
	Since  time.Time
}

// FailedBy counts the failed events with an error code.
type FailedBy struct {
	ErrorCode string
	Count     int
}
