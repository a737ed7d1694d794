package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// budget divides the time of a run.
type budget struct {
	end   time.Time     // batches are settled by then, unless the store is slow
	last  time.Time     // the store is waited for no longer than this
	batch time.Duration // what a batch may take
}

const (
	// settleTime is set aside for settling a batch before the reserve is used.
	settleTime = time.Second
	// answerTime is kept for returning the answer.
	answerTime = 500 * time.Millisecond
	// closeTime is the most that is spent on ending a session.
	closeTime = time.Second
	// forever is the budget of a context without a deadline.
	forever = 365 * 24 * time.Hour
)

func newBudget(ctx context.Context, now time.Time, reserve, batch time.Duration) budget {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = now.Add(forever)
	}
	return budget{
		end:   deadline.Add(-reserve),
		last:  deadline.Add(-min(answerTime, reserve/2)),
		batch: batch,
	}
}

// allows reports whether a batch that is begun now can be done in time.
func (b budget) allows(now time.Time) bool { return b.fits(now, b.batch) }

// fits reports whether what is begun now, and takes so long, ends in time.
func (b budget) fits(now time.Time, takes time.Duration) bool {
	return !now.Add(takes).After(b.end)
}

// publishUntil is when the last answer for a batch claimed now has to be there.
func (b budget) publishUntil(now time.Time) time.Time {
	until := now.Add(PublishWindow)
	if end := b.end.Add(-settleTime); end.Before(until) {
		return end
	}
	return until
}

// tooShort is the error of a run without time for a batch.
func (b budget) tooShort(now time.Time, advice string) error {
	return fmt.Errorf("no time for any work: %s are left before the reserve, %s are needed; %s",
		max(0, b.end.Sub(now)).Round(time.Millisecond), b.batch, advice)
}

// usedUp is the error of a run whose time was over before it had done anything.
func (b budget) usedUp(began time.Time) error {
	return fmt.Errorf("no time for any work: the time of the run, %s without the reserve, was over before anything was done; "+
		"look for what keeps the database, the bus or the network, or give the function a longer timeout",
		b.end.Sub(began).Round(time.Millisecond))
}

// store is the context for a call to the store: it does not end with ctx, since
// what was published has to be recorded, but before the deadline.
func (b budget) store(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(context.WithoutCancel(ctx), b.last, errTimeUp)
}

// errTimeUp is why a call to the store ended that the reserve was too short for.
var errTimeUp = errors.New("the time of the run is used up, and its reserve: " +
	"look for what keeps the database or the network, or give the function a longer timeout")

// settle is the context for settling a batch: it leaves a third of the time for
// recording the outcomes on another session, should this one be lost.
func (b budget) settle(ctx context.Context, now time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(context.WithoutCancel(ctx), now.Add(b.last.Sub(now)*2/3))
}

// closing is the context for ending a session. One that has failed may not say
// goodbye: what comes after it is not to wait for that.
func (b budget) closing(ctx context.Context, now time.Time) (context.Context, context.CancelFunc) {
	end := b.last.Add(answerTime / 4)
	if soon := now.Add(closeTime); soon.Before(end) {
		end = soon
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// sleep waits, but not beyond the end of the run.
func (b budget) sleep(ctx context.Context, wait time.Duration) {
	sleep(ctx, min(wait, time.Until(b.end)))
}

// sleep waits, but not beyond the end of the context.
func sleep(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
