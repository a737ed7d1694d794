package outbox

import (
	"context"
	"math"
	"time"
)

// CleanupStore is where the rows are that a cleanup deletes.
type CleanupStore interface {
	// Connect opens a session, with a time limit of its own. An error says
	// what is wrong and what to do, and never shows a password.
	Connect(ctx context.Context) (CleanupSession, error)
}

// CleanupSession is one connection to the store, used by one goroutine. An
// error ends it, and only Close may follow, unless it is an *UndoneError.
type CleanupSession interface {
	// Oldest finds the first row that has expired by now, by the store's
	// clock. It holds no locks, so it may take long.
	Oldest(ctx context.Context, search Search) (Expired, error)

	// Delete deletes rows in a transaction of its own, which is committed when
	// it returns without an error. It passes over rows that others have locked.
	Delete(ctx context.Context, deletion Deletion) (Deleted, error)

	// Close ends the session. It takes no longer than the context.
	Close(ctx context.Context)
}

// RowKind is a kind of row that a cleanup deletes, by a time that it has.
type RowKind int

// What a cleanup deletes.
const (
	PublishedEvents RowKind = iota // since they were published
	FailedEvents                   // since they failed
	Redrives                       // the history of events that were moved back, since they were
)

// String names one such row.
func (k RowKind) String() string {
	switch k {
	case PublishedEvents:
		return "published event"
	case FailedEvents:
		return "failed event"
	default:
		return "redrive"
	}
}

// Place is where a row stands in the order of its kind: by time, then by seq.
type Place struct {
	At  int64 // the time, as the store writes it: a number that grows with it
	Seq int64
}

// foremost is before every place.
var foremost = Place{math.MinInt64, math.MinInt64}

// less reports whether the place comes before another.
func (p Place) less(other Place) bool {
	return p.At < other.At || p.At == other.At && p.Seq < other.Seq
}

// before is the place next to this one: between them is no other.
func (p Place) before() Place { return Place{p.At, max(p.Seq, math.MinInt64+1) - 1} }

// Search asks for the first row that has expired, or for one after it.
type Search struct {
	Kind      RowKind
	After     Place         // only rows after it
	Skip      int           // the first so many of them are passed over
	Retention time.Duration // rows are kept for so long
	Limit     time.Duration // the store gives up after it
}

// Expired is what a search found.
type Expired struct {
	Upto  Place // the last place there may be of a row that has expired by now
	Found bool  // there is such a row
	First Place // of the first one
}

// Deletion asks for rows to be deleted, in the order of their places.
type Deletion struct {
	Kind  RowKind
	After Place         // only rows after it
	Upto  Place         // and up to this one
	Rows  int           // at most so many
	Limit time.Duration // the store gives up after it
}

// Deleted is what became of a deletion.
type Deleted struct {
	Locked  int           // rows found; fewer than were asked for when there are no more
	Deleted int           // rows deleted; fewer when the database has dropped the change
	Last    Place         // of the rows found
	Kept    int64         // the seq of one that was not deleted, if any
	Took    time.Duration // by the store's clock, without the way there and back
}

// UndoneBy is what made the store give up.
type UndoneBy int

// What a store gives up for.
const (
	ByLimit   UndoneBy = iota // it took longer than its limit
	ByLock                    // others have locked what it needs
	ByRefusal                 // a row among those cannot be deleted
)

// UndoneError says that the store gave up, and undid, what it was asked for.
// Less of it may succeed.
type UndoneError struct {
	By    UndoneBy
	Cause error
}

// Error is the cause's.
func (e *UndoneError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *UndoneError) Unwrap() error { return e.Cause }
