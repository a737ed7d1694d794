package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Lag is how far an outbox is behind, with what tells why. Ages are by the
// store's clock and never negative; where there is nothing that could have an
// age, they are 0.
type Lag struct {
	// OldestUnpublishedAge is how long the oldest event has been waiting that
	// should have been published by now: since it was created or, if that is
	// later, due. Of a backlog greater than the count's limit, its first events.
	OldestUnpublishedAge time.Duration
	// Unpublished counts the events that should have been published: pending,
	// due, and not for a paused bus. A backoff does not excuse them.
	Unpublished int
	// UnpublishedIsLowerBound says that there are more: the count stopped.
	UnpublishedIsLowerBound bool
	Failed                  int // events in the failed table; the count stops too
	Paused                  int // due events of paused buses; the count stops too
	// OldestPublishedAge tells whether published events are cleaned up.
	OldestPublishedAge time.Duration
	DeadRows           int64 // versions of rows that await a vacuum
	// OldestTransactionAge is that of the oldest transaction in the database
	// that vacuum may have to wait for.
	OldestTransactionAge time.Duration
}

// ErrTooSlow marks the error of a measurement that took longer than its limit.
var ErrTooSlow = errors.New("the measurement took too long")

// LagStore is where the rows are that a LagProbe measures.
type LagStore interface {
	// Measure reads, in a session of its own, and waits for nobody's rows. An
	// error, which wraps ErrTooSlow where that is what it was, says what is
	// wrong and what to do; there is no measurement beside it.
	Measure(ctx context.Context, scan LagScan) (Measurement, error)
}

// LagScan says where a measurement starts.
type LagScan struct {
	After          int64         // only pending rows with a greater seq are looked at
	PublishedSince time.Time     // only rows published since then; zero: all
	Limit          time.Duration // for each statement
}

// fromFront reports whether the scan looks at all rows.
func (s LagScan) fromFront() bool { return s.After == front }

// Measurement is a Lag, and what the next scan can start from.
type Measurement struct {
	Lag

	// First is the lowest seq of the pending rows that were looked at,
	// lag or not; math.MaxInt64: there were none.
	First int64
	// Greatest is the greatest seq of all rows that were there then; LagScan.After
	// where none has a greater one.
	Greatest int64
	// OldestPublished is when the row was published that was published first;
	// zero: there is none.
	OldestPublished time.Time
	// Took is how long the store was busy with it, without connecting.
	Took time.Duration
	// Unseen says what the user may not see, and what to do about it; empty:
	// the measurement is complete.
	Unseen string
}

const (
	// lagReserve is kept free before the deadline, of which a half is for
	// ending what is under way.
	lagReserve = time.Second
	// lagLeast is the least time that is worth a try.
	lagLeast = time.Second
	// lagMost bounds a statement that scans from the front under no deadline.
	lagMost = 5 * time.Minute
	// lagFromFloor bounds one that does not.
	lagFromFloor = 5 * time.Second
)

// LagProbe measures the lag of one outbox. It remembers from one measurement to
// the next where the pending rows begin, and is for one goroutine.
type LagProbe struct {
	store LagStore
	log   *slog.Logger
	floor *lagFloor
	told  string // what was said to be unseen
}

// NewLagProbe returns a probe that has not measured yet.
func NewLagProbe(store LagStore, log *slog.Logger) *LagProbe {
	return &LagProbe{store: store, log: log, floor: newLagFloor()}
}

// Measure measures once, within the context's deadline less a second. An error
// means that nothing is known: there is never a lag beside it.
func (p *LagProbe) Measure(ctx context.Context) (Lag, error) {
	scan := p.floor.begin(time.Now())
	measured, err := p.scan(ctx, scan)
	if errors.Is(err, ErrTooSlow) && !scan.fromFront() {
		// The floor is no help, as behind the rows of a paused bus.
		measured, err = p.scan(ctx, p.floor.fromFront())
	}
	if err != nil {
		return Lag{}, fmt.Errorf("measure lag: %w", err)
	}
	p.tell(ctx, measured.Unseen)
	return measured.Lag, nil
}

func (p *LagProbe) scan(ctx context.Context, scan LagScan) (Measurement, error) {
	var err error
	if scan.Limit, err = limitOf(ctx, scan); err != nil {
		return Measurement{}, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, deadline.Add(-lagReserve/2),
			errors.New("the deadline is too near: give the function a longer timeout"))
		defer cancel()
	}
	measured, err := p.store.Measure(ctx, scan)
	if err == nil {
		p.floor.found(scan, measured, time.Now())
	}
	return measured, err
}

// limitOf is the time that each statement of a scan may take.
func limitOf(ctx context.Context, scan LagScan) (time.Duration, error) {
	limit := lagMost
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)-lagReserve)
	}
	if limit < lagLeast {
		return 0, fmt.Errorf("no time to measure: %s are left before the deadline, %s are needed; give the function a longer timeout",
			(limit + lagReserve).Round(time.Millisecond), lagLeast+lagReserve)
	}
	if !scan.fromFront() {
		limit = min(limit, lagFromFloor)
	}
	return limit, nil
}

// tell warns of a measurement that is not complete, once.
func (p *LagProbe) tell(ctx context.Context, unseen string) {
	if unseen != "" && unseen != p.told {
		p.log.WarnContext(ctx, "the lag is not measured completely", "reason", unseen)
	}
	p.told = unseen
}
