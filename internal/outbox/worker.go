package outbox

import (
	"context"
	"math"
	"slices"
	"time"
)

// firstRows is how many rows a worker's first claim asks for. Each full batch
// doubles it: the size of the rows is not known beforehand, and a claim reads
// all that it locks.
const firstRows = 64

// heldPause is the pause after a batch of which nothing could be sent.
const heldPause = time.Second

// worker claims, publishes and settles, with a session of its own.
type worker struct {
	run     *run
	session Session // nil: not connected
	next    *batch  // claimed together with the last settling
	rows    int     // that the next claim asks for

	failures int       // of the session, in a row
	failing  time.Time // since when
	err      error     // the last of them; nil while the session works
}

// batch is a claimed batch and how it was asked for.
type batch struct {
	Batch
	scan    scan
	asked   int
	claimed time.Time
}

// full reports whether the claim stopped because it had enough, so that there
// may be more.
func (b *batch) full() bool { return b.Locked >= b.asked || b.cut() }

// cut reports whether the claim locked rows that were too many bytes.
func (b *batch) cut() bool { return b.Locked > len(b.Events) }

// drain works until there is nothing left to do or no time to do it in.
func (w *worker) drain(ctx context.Context) error {
	defer w.disconnect(ctx)
	for w.run.goesOn(ctx) {
		batch, err := w.claim(ctx)
		switch {
		case err != nil:
			if err := w.lost(ctx, err); err != nil {
				return err
			}
		case len(batch.Events) > 0:
			outcomes := w.publish(ctx, batch)
			if err := w.settle(ctx, batch, outcomes); err != nil {
				return err
			}
			if allHeld(outcomes) {
				w.run.budget.sleep(ctx, heldPause)
			}
		case !w.idle(ctx, batch):
			w.run.report.stopped(Drained)
			return nil
		}
	}
	w.run.report.stopped(OutOfTime)
	return w.err
}

// claim returns the batch that came with the last settling, or claims one.
func (w *worker) claim(ctx context.Context) (*batch, error) {
	if batch := w.next; batch != nil {
		w.next = nil
		return batch, nil
	}
	storeCtx, cancel := w.run.budget.store(ctx)
	defer cancel()
	if err := w.connect(storeCtx); err != nil {
		return nil, err
	}
	claim, batch := w.ask()
	found, err := w.session.Claim(storeCtx, *claim)
	if err != nil {
		return nil, err
	}
	w.found(ctx, batch, found)
	return batch, nil
}

// ask prepares a claim, and the batch that will hold what it finds.
func (w *worker) ask() (*Claim, *batch) {
	now := time.Now()
	leftOut, woken := w.run.buses.leftOut(now)
	if woken {
		w.run.floor.scanNext()
	}
	scan := w.run.floor.begin(now)
	config := w.run.relay.config
	claim := &Claim{
		After:        scan.from,
		Rows:         min(w.rows, config.BatchSize, config.rateRows()),
		Bytes:        config.BatchBytes,
		EventBytes:   config.EventBytes,
		WithoutBuses: leftOut,
		WithoutSeqs:  w.run.suspects.leftOut(),
	}
	return claim, &batch{scan: scan, asked: claim.Rows}
}

// found completes a batch by what its claim found.
func (w *worker) found(ctx context.Context, batch *batch, found Batch) {
	now := time.Now()
	batch.Batch, batch.claimed = found, now
	w.run.floor.found(batch.scan, found.Events, batch.full(), now)
	w.failures, w.err = 0, nil
	switch {
	case batch.cut():
		w.rows = 2 * len(found.Events)
	case batch.full():
		w.rows = min(2*w.rows, w.run.relay.config.BatchSize)
	}
	if batch.full() {
		w.run.startWorker(ctx)
	}
}

// publish sends the batch and returns an outcome for each of its events.
func (w *worker) publish(ctx context.Context, batch *batch) []Outcome {
	until := w.run.budget.publishUntil(batch.claimed)
	return w.run.dispatcher.publish(ctx, batch.Events, batch.claimed, until)
}

// settle records the outcomes and, if there is time for another batch, claims
// it. An error means that accepted events could not be recorded.
func (w *worker) settle(ctx context.Context, batch *batch, outcomes []Outcome) error {
	settlement := w.run.relay.config.decide(outcomes)
	w.run.report.deferred(postponed(outcomes, settlement))
	w.run.floor.lower(batch.released(outcomes))
	var claim *Claim
	if !allHeld(outcomes) && w.run.goesOn(ctx) {
		claim, w.next = w.ask()
	}
	storeCtx, cancel := w.run.budget.store(ctx)
	defer cancel()
	found, settled, err := w.session.Settle(storeCtx, settlement, claim)
	if settled {
		w.run.report.settled(settlement, time.Since(batch.claimed))
	}
	switch {
	case err == nil && claim != nil:
		w.found(ctx, w.next, found)
		return nil
	case err == nil:
		return nil
	case settled || settlement.size() == 0:
		return w.lost(ctx, err)
	default:
		return w.rescue(ctx, settlement, err)
	}
}

// allHeld reports that nothing of a batch was sent, because there was no leave
// or no time for it. Claiming again at once would find the same.
func allHeld(outcomes []Outcome) bool {
	return !slices.ContainsFunc(outcomes, func(o Outcome) bool { return !o.held() })
}

// released is the seq after which the batch leaves rows that can be claimed
// again at once: those that the claim locked and did not return, and those that
// there was no time to send.
func (b *batch) released(outcomes []Outcome) int64 {
	after := int64(math.MaxInt64)
	if b.cut() {
		after = b.Events[len(b.Events)-1].Seq
	}
	for _, outcome := range outcomes {
		if outcome.held() {
			after = min(after, outcome.Event.Seq-1)
		}
	}
	return after
}

// idle waits where waiting makes sense, and reports whether to go on. A run that
// does not poll is drained when a scan from the front has found nothing and no
// bus is resting.
func (w *worker) idle(ctx context.Context, batch *batch) bool {
	config := w.run.relay.config
	if config.PollInterval == 0 && !batch.scan.front {
		w.run.floor.scanNext()
		return true
	}
	wake, resting := w.run.buses.wake()
	if config.PollInterval == 0 && !resting {
		return false
	}
	wait := config.FrontScanMax
	if config.PollInterval > 0 {
		wait = config.PollInterval
	}
	if resting {
		wait = min(wait, time.Until(wake))
	}
	w.run.budget.sleep(ctx, wait)
	return true
}
