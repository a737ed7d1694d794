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
	// Failed counts the events in the failed table; the count stops too.
	Failed int
	// Paused counts the due events of paused buses, among as many of the first due
	// ones as are twice the limit; the count stops too.
	Paused int
	// OldestPublishedAge tells whether published events are cleaned up.
	OldestPublishedAge time.Duration
	DeadRows           int64 // versions of rows that await a vacuum
	// OldestTransactionAge is that of the oldest transaction in the database
	// that vacuum may have to wait for. What else vacuum may have to wait for,
	// such as a replication slot, is none.
	OldestTransactionAge time.Duration
}

// ErrTooSlow marks the error of a measurement that took longer than its limit.
var ErrTooSlow = errors.New("the measurement took too long")

// LagStore is where the rows are that a LagProbe measures.
type LagStore interface {
	// Measure reads, in a session of its own, and waits for nobody's rows. It
	// takes no longer than the context, but for half a second to end the session.
	// An error, which wraps ErrTooSlow where that is what it was, says what is
	// wrong and what to do; there is no measurement beside it.
	Measure(ctx context.Context, scan LagScan) (Measurement, error)
}

// LagScan says where a measurement starts.
type LagScan struct {
	After          int64         // only pending rows with a greater seq are looked at
	PublishedSince time.Time     // only rows published since then; zero: all
	Limit          time.Duration // for all statements together; less where the context ends before
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
	// Unseen says what could not be seen, and what to do about it; empty: the
	// measurement is complete.
	Unseen string
}

const (
	// lagReserve is kept free before the deadline for ending the session and
	// answering.
	lagReserve = time.Second
	// lagLeast is the least time that is worth a try.
	lagLeast = time.Second
	// lagMost bounds a scan from the front that no deadline ends.
	lagMost = 5 * time.Minute
	// lagFromFloor bounds one from the floor.
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
	ctx, cancel, err := beforeDeadline(ctx)
	if err != nil {
		return Measurement{}, err
	}
	defer cancel()
	scan.Limit = lagFromFloor
	if scan.fromFront() {
		scan.Limit = lagMost
	}
	measured, err := p.store.Measure(ctx, scan)
	if err == nil {
		p.floor.found(scan, measured, time.Now())
	}
	return measured, err
}

// beforeDeadline is a context that ends when there is just time to answer. The
// store's own limits end before it, unless there is no answer to be had.
func beforeDeadline(ctx context.Context) (context.Context, context.CancelFunc, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}, nil
	}
	left := time.Until(deadline)
	if left < lagReserve+lagLeast {
		return nil, nil, fmt.Errorf("no time to measure: %s are left before the deadline, %s are needed; give the function a longer timeout",
			left.Round(time.Millisecond), lagReserve+lagLeast)
	}
	bounded, cancel := context.WithDeadlineCause(ctx, deadline.Add(-lagReserve),
		fmt.Errorf("the database did not answer within %s", (left-lagReserve).Round(time.Millisecond)))
	return bounded, cancel, nil
}

// tell warns of a measurement that is not complete, once.
func (p *LagProbe) tell(ctx context.Context, unseen string) {
	if unseen != "" && unseen != p.told {
		p.log.WarnContext(ctx, "the lag is not measured completely", "reason", unseen)
	}
	p.told = unseen
}
