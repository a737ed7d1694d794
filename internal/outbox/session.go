package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// failuresMax is how often in a row a worker's session may fail, and
	// failureSpan for how long, before the worker gives up.
	failuresMax = 3
	failureSpan = 5 * time.Second
	// refusalsMax is how many rows of a batch the store may refuse to record
	// before it is the store that is taken to be at fault.
	refusalsMax = 10
)

// connect opens the worker's session if it has none.
func (w *worker) connect(ctx context.Context) error {
	if w.session != nil {
		return nil
	}
	session, err := w.run.relay.store.Connect(ctx)
	if err == nil {
		w.session = session
	}
	return err
}

// disconnect ends the session; what it had claimed is pending again.
func (w *worker) disconnect(ctx context.Context) {
	w.next = nil
	if w.session == nil {
		return
	}
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
	if errors.Is(err, ErrRefused) || w.failures > failuresMax || now.Sub(w.failing) > failureSpan {
		return err
	}
	w.run.relay.log.Warn("session lost, connecting again", "error", err)
	w.run.budget.sleep(ctx, retryPause(w.failures-1))
	return nil
}

// rescue records the outcomes of a batch whose transaction was lost, on a new
// session, and is patient: what is not recorded is sent again. Another claim may
// hold the rows by now, and a commit whose answer was lost may have taken place:
// recording again changes nothing then.
func (w *worker) rescue(ctx context.Context, settlement Settlement, cause error) error {
	seqs := settlement.seqs()
	w.run.suspects.recording(seqs)
	w.disconnect(ctx)
	w.run.relay.log.Warn("settling failed, recording the outcomes on a new session", "events", len(seqs), "error", cause)
	refusals := 0
	if err := w.record(ctx, settlement, &refusals); err != nil {
		return unrecorded(settlement, errors.Join(cause, err))
	}
	w.run.suspects.recorded(seqs)
	return nil
}

func unrecorded(settlement Settlement, err error) error {
	return fmt.Errorf("%d accepted events could not all be recorded; those will be sent again, with the same ids: %w",
		len(settlement.Published), err)
}

// record records a settlement in transactions of its own: in one, or where the
// store refuses it in parts, so that a row that cannot be recorded stands alone
// and is left out for the rest of the run.
func (w *worker) record(ctx context.Context, settlement Settlement, refusals *int) error {
	err := w.recordOnce(ctx, settlement)
	switch {
	case err == nil:
		w.run.report.recorded(settlement)
		return nil
	case !errors.Is(err, ErrRefused) || *refusals == refusalsMax:
		return err
	case settlement.size() == 1:
		*refusals++
		w.run.suspects.refused(settlement.seqs()[0], err)
		return nil
	}
	first, second := settlement.split()
	if err := w.record(ctx, first, refusals); err != nil {
		return err
	}
	return w.record(ctx, second, refusals)
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
