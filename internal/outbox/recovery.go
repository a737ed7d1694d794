package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// How often in a row a worker's session may fail, and for how long, before the
// worker gives up.
const (
	failuresMax = 3
	failureSpan = 5 * time.Second
)

// errDropped is why a row is as it was although the database accepted the
// statement that changes it.
var errDropped = errors.New("the database dropped the change: look for a trigger, a rule or a policy on the table")

// connect opens the worker's session if it has none.
func (w *worker) connect(ctx context.Context) error {
	if w.session != nil {
		return nil
	}
	session, err := w.run.relay.store.Connect(ctx)
	if err != nil {
		return err
	}
	w.session = session
	return nil
}

// disconnect ends the session; what it had claimed is pending again.
func (w *worker) disconnect(ctx context.Context) {
	w.next = nil
	if w.session == nil {
		return
	}
	ctx, cancel := w.run.budget.closing(ctx, time.Now())
	defer cancel()
	w.session.Close(ctx)
	w.session = nil
	w.run.floor.scanNext()
}

// lost ends a session that failed, and waits a moment. It returns the error if
// connecting again is no use.
func (w *worker) lost(ctx context.Context, err error) error {
	w.disconnect(ctx)
	now := time.Now()
	if w.failures == 0 {
		w.failing = now
	}
	w.failures++
	w.err = err
	refused := errors.Is(err, ErrRefused) && !errors.Is(err, ErrUnreadable)
	if refused || w.failures > failuresMax || now.Sub(w.failing) > failureSpan {
		return err
	}
	w.run.relay.log.WarnContext(ctx, "the store failed, going on with a new session", "error", err)
	w.run.budget.sleep(ctx, retryPause(w.failures-1))
	return nil
}

// rescue records the outcomes of a batch whose transaction was lost, on a new
// session, and is patient: what is not recorded is sent again. Another claim may
// hold the rows by now, and a commit whose answer was lost may have taken place:
// recording again changes nothing then.
func (w *worker) rescue(ctx context.Context, batch *batch, settlement Settlement, cause error) error {
	w.disconnect(ctx)
	w.run.relay.log.WarnContext(ctx, "settling failed, recording the outcomes on a new session",
		"events", settlement.size(), "error", cause)
	if err := w.record(ctx, settlement); err != nil {
		return &unrecordedError{w.run.flight.count(settlement.Published), errors.Join(cause, err)}
	}
	w.run.flight.release(w, batch.seqs())
	return nil
}

// unrecordedError tells of outcomes of which it is not known that the store has
// them.
type unrecordedError struct {
	accepted int // events
	cause    error
}

// Error counts the events that may be sent again.
func (e *unrecordedError) Error() string {
	if e.accepted == 0 {
		return fmt.Sprintf("it could not be recorded why events were refused; they stay pending: %s", e.cause)
	}
	return fmt.Sprintf("%d accepted events could not all be recorded; those will be sent again, with the same ids: %s",
		e.accepted, e.cause)
}

// Unwrap returns the cause.
func (e *unrecordedError) Unwrap() error { return e.cause }

// takes adds the events of another such error with the same cause.
func (e *unrecordedError) takes(other error) bool {
	more, ok := errors.AsType[*unrecordedError](other)
	if !ok || more.cause.Error() != e.cause.Error() {
		return false
	}
	e.accepted += more.accepted
	return true
}

// record records a settlement in transactions of its own: in one, or where the
// store refuses it in parts, so that a row that cannot be recorded stands alone.
func (w *worker) record(ctx context.Context, settlement Settlement) error {
	err := w.recordOnce(ctx, settlement)
	switch {
	case err == nil:
		w.run.suspects.stored()
		w.run.flight.release(w, settlement.Seqs())
		w.run.report.recorded(settlement)
		return nil
	case !errors.Is(err, ErrRefused), !w.run.suspects.bearable():
		return err
	case settlement.size() == 1:
		return w.setAside(ctx, settlement.Seqs()[0], err)
	}
	first, second := settlement.split()
	if err := w.record(ctx, first); err != nil {
		return err
	}
	return w.record(ctx, second)
}

// setAside deals with a row whose outcome the store refuses to record: it is
// left out for the rest of the run and, if the store takes that, for longer,
// since the next run would send it again.
func (w *worker) setAside(ctx context.Context, seq int64, cause error) error {
	w.run.suspects.unrecordable(seq, cause)
	w.run.flight.release(w, []int64{seq})
	deferral := Deferral{Seq: seq, Attempts: AnyAttempts, Delay: w.run.relay.config.RetryMax, Reason: clean(cause.Error())}
	err := w.recordOnce(ctx, Settlement{Deferred: []Deferral{deferral}})
	if errors.Is(err, ErrRefused) {
		return nil
	}
	return err
}

// recordOnce tries until the store has answered, or the time is used up.
func (w *worker) recordOnce(ctx context.Context, settlement Settlement) error {
	storeCtx, cancel := w.run.budget.store(ctx)
	defer cancel()
	for try := 0; ; try++ {
		err := w.connect(storeCtx)
		if err == nil {
			err = w.session.Record(storeCtx, settlement)
		}
		if err == nil {
			return nil
		}
		w.disconnect(ctx)
		if errors.Is(err, ErrRefused) || storeCtx.Err() != nil {
			return err
		}
		sleep(storeCtx, retryPause(try))
	}
}

// retryPause is the pause after a session has failed, growing with each.
func retryPause(failures int) time.Duration {
	return jitter(pause(100*time.Millisecond, 4, failures, time.Second))
}
