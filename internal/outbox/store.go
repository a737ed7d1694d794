package outbox

import (
	"context"
	"errors"
	"time"
)

// PublishWindow is how long a store keeps a batch locked at the least while it
// hears nothing from us. A batch is published within it.
const PublishWindow = 15 * time.Second

// ErrRefused marks an error with which the database answered a statement: the
// same statement would be refused again, the connection is not to blame.
var ErrRefused = errors.New("refused by the database")

// ErrUnreadable marks the error of a claim that met a row whose text the
// database cannot produce. It comes with ErrRefused.
var ErrUnreadable = errors.New("the database cannot read the row")

// Store is where the rows are.
type Store interface {
	// Connect opens a session, with a time limit of its own. An error says
	// what is wrong and what to do, and never shows a password.
	Connect(ctx context.Context) (Session, error)
}

// Session is one connection to the store, used by one goroutine. Every error
// ends it: only Close may follow. Locks that it held are gone within 30
// seconds, whatever happens to this process.
type Session interface {
	// Claim locks pending rows in a transaction that stays open until Settle
	// or Close. A batch without events leaves no transaction behind.
	Claim(ctx context.Context, claim Claim) (Batch, error)

	// Settle records the outcomes of the claimed batch and commits; with next
	// it also claims the next batch, in the same round trip. The receipt is
	// valid also beside an error, which may be the claim's.
	Settle(ctx context.Context, settlement Settlement, next *Claim) (Batch, Receipt, error)

	// Record writes outcomes in a transaction of their own, for rows whose
	// claim was lost. What is recorded already, by whomever, stays as it is.
	// The error wraps ErrRefused when the database refused the content.
	Record(ctx context.Context, settlement Settlement) error

	// Close ends the session and with it an open claim, whose rows are
	// pending again. It takes no longer than the context.
	Close(ctx context.Context)
}

// Claim asks for a batch of pending rows that are due, in the order of Seq.
type Claim struct {
	After        int64    // the floor: only rows with a greater seq
	Rows         int      // at most so many rows
	Bytes        int      // at most so many bytes of text, but always one row
	EventBytes   int      // a row with a longer payload or longer headers comes without both; 0: without reading either
	WithoutBuses []string // buses to leave out
	WithoutSeqs  []int64  // rows to leave out
	Turn         Turn     // what to do about the numbers of runs
}

// Turn is what a claim does about the numbers that runs take.
type Turn int

// A claim that fails takes no number. One that was taken is taken for good, and
// seen by others at once, whatever becomes of the claim's transaction.
const (
	NoTurn   Turn = iota // nothing
	TakeTurn             // takes the next number, once the rows are claimed
	SeeTurn              // sees the number that was taken last
)

// Batch is what a claim found.
type Batch struct {
	Events []Event
	// Locked counts the rows that the claim found: more than len(Events) when
	// they held too many bytes, fewer than Claim.Rows when there are no more.
	Locked int
	// Turn is the number that the claim has taken or seen; 0: it was to do neither.
	Turn int64
}

// Receipt says what became of a settlement.
type Receipt struct {
	// Committed: it is known to be committed.
	Committed bool
	// Missing are rows that the database did not change although they were
	// locked: something there drops changes.
	Missing []int64
}

// Settlement lists what is to be recorded, each row once.
type Settlement struct {
	Published []int64
	Deferred  []Deferral
	Failed    []Failure
}

// Deferral leaves a row pending, not to be claimed before the delay is over.
type Deferral struct {
	Seq      int64
	Attempts int // as the claim found them, or AnyAttempts; a row that has others by now is left as it is
	Delay    time.Duration
	Reason   string
}

// AnyAttempts defers a row however often it has failed.
const AnyAttempts = -1

// Failure moves a row to the failed table.
type Failure struct {
	Seq     int64
	Code    string
	Message string
}
