package outbox

import (
	"context"
	"errors"
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
	blind   bool    // the next claim is not to read the row's text
	nothing bool    // is what the last claim found

	extra    bool      // not the first worker of the run
	served   bool      // a claim of its was answered
	gone     bool      // it was spared, and does not count any more
	failures int       // of the session, in a row
	failing  time.Time // since when
	err      error     // the last of them; nil while the session works
}

// batch is a claimed batch and how it was asked for.
type batch struct {
	Batch
	scan    scan
	turn    Turn
	asked   int
	blind   bool
	claimed time.Time
}

// full reports whether the claim stopped because it had enough, so that there
// may be more.
func (b *batch) full() bool { return b.Locked >= b.asked || b.cut() }

// cut reports whether the claim locked rows that were too many bytes.
func (b *batch) cut() bool { return b.Locked > len(b.Events) }

// seqs are those of the events that the claim returned.
func (b *batch) seqs() []int64 {
	seqs := make([]int64, len(b.Events))
	for i := range b.Events {
		seqs[i] = b.Events[i].Seq
	}
	return seqs
}

// drain works until there is nothing left to do or no time to do it in.
func (w *worker) drain(ctx context.Context) error {
	defer w.disconnect(ctx)
	for w.goesOn(ctx) {
		batch, err := w.claim(ctx)
		switch {
		case err != nil && w.dispensable():
			w.run.relay.log.WarnContext(ctx, "no connection for another worker", "error", err)
			w.run.enough()
			return nil
		case err != nil:
			if err := w.lost(ctx, err); err != nil {
				return w.givesUp(ctx, err)
			}
		case len(batch.Events) > 0:
			if err := w.handle(ctx, batch); err != nil {
				return err
			}
		case !w.idle(ctx, batch):
			w.run.report.stopped(Drained)
			return nil
		}
	}
	w.run.report.stopped(w.reason())
	if err := w.unresolved(); err != nil {
		return w.givesUp(ctx, err)
	}
	return nil
}

// givesUp returns why the worker gives up, if that is an error of the run. It is none
// where other workers go on, as behind a pooler that has a connection for one of them
// only: what keeps the last of them from working is one.
func (w *worker) givesUp(ctx context.Context, err error) error {
	if errors.Is(err, ErrRefused) || !w.run.spares(w) {
		return err
	}
	w.run.relay.log.WarnContext(ctx, "a worker gives up, others go on", "error", err)
	return nil
}

// unresolved is why the session failed last, if it has not worked since. A single
// failure at the end of a run that was of use is left to the next run, which fails
// itself if it is of the lasting kind. One that has cost time is told.
func (w *worker) unresolved() error {
	if w.failures == 1 && w.run.wasOfUse() && !errors.Is(w.err, context.DeadlineExceeded) {
		return nil
	}
	return w.err
}

// handle publishes a batch and settles it.
func (w *worker) handle(ctx context.Context, batch *batch) error {
	outcomes := w.publish(ctx, batch)
	err := w.settle(ctx, batch, outcomes)
	switch {
	case !allHeld(outcomes):
		w.run.works()
	case err == nil:
		w.run.budget.sleep(ctx, heldPause)
	}
	return err
}

// goesOn reports whether there is another batch for the worker. One that is
// claimed already it takes also where newer runs are at work: they are past those
// rows, and would come back for them late.
func (w *worker) goesOn(ctx context.Context) bool {
	return w.run.claims(ctx) || w.next != nil && w.run.goesOn(ctx)
}

// reason is why the worker has stopped. One that made way for a newer run is
// drained if there was nothing left.
func (w *worker) reason() Stopped {
	if w.nothing && w.run.turn.isOver() {
		return Drained
	}
	return OutOfTime
}

// dispensable reports that others do the work, and that this worker could not
// even begin: the database, or a pooler before it, may have no place for it.
func (w *worker) dispensable() bool { return w.extra && !w.served }

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
		w.shrink(claim, err)
		return nil, err
	}
	w.found(ctx, batch, found)
	return batch, nil
}

// shrink makes the next claim a small one, since this one may have been too much
// for the database. Where it was one row whose text cannot be produced, the next
// claim is blind, to learn which row that is.
func (w *worker) shrink(claim *Claim, err error) {
	w.blind = errors.Is(err, ErrUnreadable) && claim.Rows == 1
	w.rows = 1
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
	eventBytes := config.EventBytes
	if w.blind {
		eventBytes = 0
	}
	claim := &Claim{
		After:        scan.from,
		Rows:         min(w.rows, config.BatchSize, config.rateRows()),
		Bytes:        config.BatchBytes,
		EventBytes:   eventBytes,
		WithoutBuses: leftOut,
		WithoutSeqs:  append(w.run.suspects.notToClaim(), w.run.flight.others(w, scan.from)...),
		Turn:         w.run.turn.next(),
	}
	return claim, &batch{scan: scan, turn: claim.Turn, asked: claim.Rows, blind: w.blind}
}

// rateRows is how many rows can be published within a few seconds under the
// rate limit: claiming more would only keep them locked.
func (c Config) rateRows() int {
	if c.MaxRate == 0 {
		return c.BatchSize
	}
	return max(1, int(5*c.MaxRate))
}

// found completes a batch by what its claim found.
func (w *worker) found(ctx context.Context, batch *batch, found Batch) {
	now := time.Now()
	batch.Batch, batch.claimed = found, now
	w.run.floor.found(batch.scan, found.Events, batch.full(), now)
	w.run.turn.found(batch.turn, found.Turn)
	w.served, w.failures, w.err, w.blind, w.nothing = true, 0, nil, false, len(found.Events) == 0
	if w.nothing && !w.run.flight.any() {
		w.run.works()
	}
	switch {
	case batch.cut():
		w.rows = 2 * len(found.Events)
	case batch.full():
		w.rows = min(2*w.rows, w.run.relay.config.BatchSize)
	}
	if batch.full() && w.run.turn.isSettled() {
		w.run.startWorker(ctx)
	}
}

// publish sends the batch and returns an outcome for each of its events.
func (w *worker) publish(ctx context.Context, batch *batch) []Outcome {
	if batch.blind {
		return w.passOver(batch)
	}
	until := w.run.budget.publishUntil(batch.claimed)
	events, others := w.run.flight.take(w, batch.Events)
	return append(w.run.dispatcher.publish(ctx, events, batch.claimed, until), others...)
}

// passOver leaves the row of a blind claim to the next run. It is not taken for
// poison: another relay may have been at the one that could not be read.
func (w *worker) passOver(batch *batch) []Outcome {
	event := &batch.Events[0]
	w.run.suspects.unreadable(event.Seq)
	return []Outcome{{Event: event, Verdict: Unanswered}}
}

// settle records the outcomes and, if there is time for another batch, claims
// it. An error means that accepted events could not be recorded: the rows are then
// left alone for the rest of the run.
func (w *worker) settle(ctx context.Context, batch *batch, outcomes []Outcome) error {
	settlement := w.run.relay.config.decide(outcomes)
	w.run.report.deferred(postponed(outcomes, settlement))
	w.run.floor.lower(batch.released(outcomes))
	var claim *Claim
	if !allHeld(outcomes) && w.run.claims(ctx) {
		claim, w.next = w.ask()
	}
	storeCtx, cancel := w.run.budget.settle(ctx, time.Now())
	defer cancel()
	found, receipt, err := w.session.Settle(storeCtx, settlement, claim)
	if receipt.Committed {
		w.committed(batch, settlement, receipt)
	}
	settled := receipt.Committed || settlement.size() == 0
	if settled {
		w.run.flight.release(w, batch.seqs())
	}
	switch {
	case err == nil && claim != nil:
		w.found(ctx, w.next, found)
		return nil
	case err == nil:
		return nil
	case settled:
		w.rows = 1 // as after any claim that failed
		return w.lost(ctx, err)
	default:
		return w.rescue(ctx, batch, settlement, err)
	}
}

// committed notes what is recorded, and what the database dropped unseen.
func (w *worker) committed(batch *batch, settlement Settlement, receipt Receipt) {
	for _, seq := range receipt.Missing {
		w.run.suspects.unrecordable(seq, errDropped)
	}
	if len(receipt.Missing) < settlement.size() {
		w.run.suspects.stored()
	}
	w.run.report.settled(settlement.without(receipt.Missing), time.Since(batch.claimed))
}

// allHeld reports that nothing of a batch was sent, because there was no leave
// or no time for it. Claiming again at once would find the same.
func allHeld(outcomes []Outcome) bool {
	return !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Verdict != Held })
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
		if outcome.Verdict == Held {
			after = min(after, outcome.Event.Seq-1)
		}
	}
	return after
}

// idle waits where waiting makes sense, and reports whether to go on. A run that
// does not poll is drained when a scan from the front has found nothing and no
// bus is resting, one that polls when newer ones are at work.
func (w *worker) idle(ctx context.Context, batch *batch) bool {
	if w.run.turn.isOver() {
		return false
	}
	config := w.run.relay.config
	if config.PollInterval == 0 && !batch.scan.front {
		w.run.floor.scanNext()
		return true
	}
	polls := config.PollInterval > 0
	wake, resting := w.run.buses.wake(polls)
	if !polls && !resting || w.run.buses.allBlocked() {
		return false
	}
	wait := config.FrontScanMax
	if polls {
		wait = config.PollInterval
	}
	if resting {
		wait = min(wait, time.Until(wake))
	}
	w.run.budget.sleep(ctx, wait)
	return true
}
