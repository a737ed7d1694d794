package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Admin does what an operator asks for: it moves failed events back into the
// outbox or discards them, pauses buses, and tells how things stand.
type Admin struct {
	store AdminStore
	lag   *LagProbe
}

// NewAdmin returns an Admin for the outbox in the store, of which the probe
// measures the lag.
func NewAdmin(store AdminStore, lag *LagProbe) *Admin { return &Admin{store: store, lag: lag} }

// AdminResult is what an action came to.
type AdminResult struct {
	// Matched counts the failed events that were selected, also beyond the
	// limit; it stops at CountMost.
	Matched int
	// Changed counts those that were moved back or discarded.
	Changed int
	// Events are the changed ones; of List, those that would be. In the order
	// of Seq.
	Events []FailedEvent
	// Kept are the numbers of those that something in the database kept from
	// being changed, such as a trigger. To repeat the change does not help.
	Kept []int64
}

// List returns what Redrive or Discard would take, and changes nothing.
func (a *Admin) List(ctx context.Context, selection Selection) (AdminResult, error) {
	return a.change(ctx, selection, nil)
}

// Redrive moves failed events back into the outbox, as new: with their seq and
// id, and no attempt counted. The error wraps ErrUncertain if that may be done
// all the same; after any other, nothing has changed.
func (a *Admin) Redrive(ctx context.Context, selection Selection) (AdminResult, error) {
	return a.change(ctx, selection, AdminSession.Redrive)
}

// Discard deletes failed events. Its errors are as those of Redrive.
func (a *Admin) Discard(ctx context.Context, selection Selection) (AdminResult, error) {
	return a.change(ctx, selection, AdminSession.Discard)
}

// change selects failed events and applies what changes them; nil: nothing does.
func (a *Admin) change(
	ctx context.Context, selection Selection, apply func(AdminSession, context.Context, []int64) ([]int64, error),
) (result AdminResult, err error) {
	if err := selection.Validate(); err != nil {
		return AdminResult{}, err
	}
	err = a.with(ctx, func(ctx context.Context, session AdminSession) error {
		found, err := session.Find(ctx, selection, apply != nil)
		if err != nil {
			return err
		}
		if err := found.complete(); err != nil {
			return err
		}
		result = AdminResult{Matched: found.Matched, Events: found.Events}
		if apply == nil || len(found.Events) == 0 {
			return nil
		}
		changed, err := apply(session, ctx, seqsOf(found.Events))
		result.Events, result.Kept = part(found.Events, changed)
		result.Changed = len(result.Events)
		return err
	})
	if err != nil {
		return AdminResult{}, err
	}
	return result, nil
}

// complete is an error where what was asked for by id is not there.
func (f Found) complete() error {
	if len(f.Missing) == 0 {
		return nil
	}
	const most = 10
	more := ""
	if len(f.Missing) > most {
		more = fmt.Sprintf(" and %d more", len(f.Missing)-most)
	}
	return fmt.Errorf("not in the failed table: %s%s; leave out what was redriven or discarded already, list shows what is there",
		strings.Join(f.Missing[:min(most, len(f.Missing))], ", "), more)
}

func seqsOf(events []FailedEvent) []int64 {
	seqs := make([]int64, len(events))
	for i, event := range events {
		seqs[i] = event.Seq
	}
	return seqs
}

// part tells the events of these seqs from the others, of which it returns the
// seq.
func part(events []FailedEvent, seqs []int64) (changed []FailedEvent, kept []int64) {
	wanted := make(map[int64]bool, len(seqs))
	for _, seq := range seqs {
		wanted[seq] = true
	}
	for _, event := range events {
		if wanted[event.Seq] {
			changed = append(changed, event)
		} else {
			kept = append(kept, event.Seq)
		}
	}
	return changed, kept
}

// Pause makes the relay leave a bus alone, or all of them ("*"), from the next
// claim on. A bus that is paused already stays so since then, and gets the
// reason, if there is one. Matched is 1 if it was paused, Changed 1 if the pause
// or its reason is new.
func (a *Admin) Pause(ctx context.Context, bus, reason string) (result AdminResult, err error) {
	err = a.with(ctx, func(ctx context.Context, session AdminSession) error {
		result, err = session.Pause(ctx, bus, reason)
		return err
	})
	if err == nil && result.Matched+result.Changed == 0 {
		err = fmt.Errorf("the database dropped the pause of %q: look for a trigger or a policy on the table of paused buses", bus)
	}
	return result, err
}

// Resume makes the relay serve a paused bus again, from the next claim on. It
// is an error if the bus is not paused.
func (a *Admin) Resume(ctx context.Context, bus string) (result AdminResult, err error) {
	err = a.with(ctx, func(ctx context.Context, session AdminSession) error {
		resumed, paused, err := session.Resume(ctx, bus)
		if err == nil && !resumed {
			err = notPaused(bus, paused)
		}
		return err
	})
	if err != nil {
		return AdminResult{}, err
	}
	return AdminResult{Matched: 1, Changed: 1}, nil
}

func notPaused(bus string, paused []PausedBus) error {
	const most = 10
	var names []string
	for _, p := range paused[:min(most, len(paused))] {
		names = append(names, fmt.Sprintf("%q", p.Bus))
	}
	switch {
	case len(paused) == 0:
		return fmt.Errorf("bus %q is not paused, nor is any other", bus)
	case len(paused) > most:
		names = append(names, "and more, which status lists")
	}
	return fmt.Errorf("bus %q is not paused: those that are: %s", bus, strings.Join(names, ", "))
}

// Status is how things stand.
type Status struct {
	Lag      Lag
	LagError error // not nil: the lag could not be measured
	Paused   []PausedBus
	FailedBy []FailedBy // the most frequent codes, of CountMost events at most
}

// Status measures the lag and lists the paused buses. Those are known also where
// the lag is not, which is when they are asked for most.
func (a *Admin) Status(ctx context.Context) (status Status, err error) {
	err = a.with(ctx, func(ctx context.Context, session AdminSession) error {
		status.Paused, status.FailedBy, err = session.Overview(ctx)
		return err
	})
	if err != nil {
		return Status{}, err
	}
	status.Lag, status.LagError = a.lag.Measure(ctx)
	return status, nil
}

// with opens a session for one action. Its time ends before the context's, so
// that an error can still be answered.
func (a *Admin) with(ctx context.Context, act func(context.Context, AdminSession) error) error {
	bounded := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		bounded, cancel = context.WithDeadlineCause(ctx, deadline.Add(-closingTime),
			errors.New("the function's time is used up: give it a longer timeout"))
		defer cancel()
	}
	if bounded.Err() != nil {
		return context.Cause(bounded)
	}
	session, err := a.store.Connect(bounded)
	if err != nil {
		return err
	}
	defer end(ctx, session)
	return act(bounded, session)
}

// end ends a session, soon, and before the context's deadline.
func end(ctx context.Context, session AdminSession) {
	until := time.Now().Add(closeTime)
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(-closingTime/2).Before(until) {
		until = deadline.Add(-closingTime / 2)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	session.Close(ctx)
}

// closingTime is kept free before the deadline for ending the session and
// answering.
const closingTime = time.Second
