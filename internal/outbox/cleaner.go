package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// cleanupReserve is kept free before the deadline.
const cleanupReserve = 2 * time.Second

// CleanerConfig says what a cleaner deletes, and at what pace. BatchSize has to
// be set.
type CleanerConfig struct {
	Retention       time.Duration // published events are kept for so long
	FailedRetention time.Duration // failed events, and the history of redrives; 0: for ever
	BatchSize       int           // rows deleted in one transaction, at most
	Pause           time.Duration // between two of them
}

// Cleaner deletes what has been kept for long enough. It keeps nothing between
// runs, and any number of them may run at once.
type Cleaner struct {
	store  CleanupStore
	config CleanerConfig
	log    *slog.Logger
}

// NewCleaner returns a cleaner of the store.
func NewCleaner(store CleanupStore, config CleanerConfig, log *slog.Logger) *Cleaner {
	return &Cleaner{store: store, config: config, log: log}
}

// CleanupReport is what a cleanup did.
type CleanupReport struct {
	Deleted       int // published events
	DeletedFailed int // failed events
	Batches       int // transactions in which events were found
	Stopped       Stopped
	Duration      time.Duration
}

// Run deletes until nothing is left to delete, or until the context's deadline,
// less a reserve, is near. The report is valid also beside an error, which tells
// of rows that could not be deleted as well as of what ended the run. It is one that
// the time was too short for any work, or was over before any was done.
func (c *Cleaner) Run(ctx context.Context) (CleanupReport, error) {
	began := time.Now()
	run := &cleanup{cleaner: c, budget: newBudget(ctx, began, cleanupReserve, least+travel)}
	if !run.budget.allows(began) {
		return run.report, run.budget.tooShort(began, "give the function a longer timeout")
	}
	err := run.clean(ctx, began)
	run.report.Duration = time.Since(began)
	return run.report, errors.Join(append([]error{err}, run.leftovers.errors()...)...)
}

// cleanup is one run.
type cleanup struct {
	cleaner   *Cleaner
	budget    budget
	session   CleanupSession
	report    CleanupReport
	leftovers leftovers
	asked     bool // the store has been asked for something
}

// clean connects, sweeps, and notes why it stopped.
func (c *cleanup) clean(ctx context.Context, began time.Time) (err error) {
	storeCtx, cancel := c.budget.store(ctx)
	defer cancel()
	if c.session, err = c.cleaner.store.Connect(storeCtx); err != nil {
		return err
	}
	defer c.disconnect(ctx)
	done, err := c.sweep(ctx)
	switch {
	case err != nil:
		return err
	case done:
		c.report.Stopped = Done
	case !c.asked && ctx.Err() == nil:
		return c.budget.usedUp(began)
	default:
		c.report.Stopped = OutOfTime
	}
	return nil
}

// sweep goes through one table after the other, and reports whether it came to
// the end. A table that cannot be searched is no reason to leave out the next.
func (c *cleanup) sweep(ctx context.Context) (done bool, err error) {
	for _, sweep := range c.sweeps() {
		done, failed := sweep.run(ctx)
		err = errors.Join(err, failed)
		if !done && !undone(failed) {
			return false, err
		}
	}
	return true, err
}

func (c *cleanup) disconnect(ctx context.Context) {
	ctx, cancel := c.budget.closing(ctx, time.Now())
	defer cancel()
	c.session.Close(ctx)
}

func (c *cleanup) sweeps() []*sweep {
	config := c.cleaner.config
	sweeps := []*sweep{newSweep(c, PublishedEvents, config.Retention)}
	if config.FailedRetention > 0 {
		sweeps = append(sweeps, newSweep(c, FailedEvents, config.FailedRetention), newSweep(c, Redrives, config.FailedRetention))
	}
	return sweeps
}

// call returns the context for a statement with a limit. It is an error if that
// may not end before the reserve.
func (c *cleanup) call(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc, error) {
	if ctx.Err() != nil || !c.budget.fits(time.Now(), limit+travel) {
		return nil, nil, errNoTime
	}
	c.asked = true
	storeCtx, cancel := c.budget.store(ctx)
	return storeCtx, cancel, nil
}

// errNoTime ends a run without being its error.
var errNoTime = errors.New("no time is left for another statement")

// limit is the time for a statement that may take long: half of what is left, so
// that the run can go on after it, but not so little that it fails for that.
func (c *cleanup) limit(most time.Duration) time.Duration {
	return max(least, min(most, time.Until(c.budget.end)/2))
}

// count notes what a batch did. The history of redrives is nobody's concern.
func (c *cleanup) count(kind RowKind, deleted Deleted) {
	if deleted.Locked == 0 || kind == Redrives {
		return
	}
	c.report.Batches++
	if kind == PublishedEvents {
		c.report.Deleted += deleted.Deleted
	} else {
		c.report.DeletedFailed += deleted.Deleted
	}
}

// leftovers are rows that could not be deleted. However many there are, a few
// are named.
type leftovers struct {
	errs    []error
	rows    int
	untried int  // rows that were skipped
	atMost  bool // there may have been fewer
}

func (l *leftovers) add(kind RowKind, seq int64, rows int, err error) {
	l.rows += rows
	if len(l.errs) < shownErrors {
		l.errs = append(l.errs, fmt.Errorf("%s with seq %d could not be deleted and is left to the next run: %w", kind, seq, err))
	}
}

// skip notes rows that were not tried. Where none was found after them, there
// may have been fewer.
func (l *leftovers) skip(rows int, found bool) {
	l.untried += rows
	l.atMost = l.atMost || !found
}

func (l *leftovers) errors() []error {
	errs := l.errs
	if more := l.rows - len(l.errs); more > 0 {
		errs = append(errs, fmt.Errorf("and %d more rows like these", more))
	}
	switch {
	case l.atMost:
		errs = append(errs, fmt.Errorf("and at most %d rows after it were not tried", l.untried))
	case l.untried > 0:
		errs = append(errs, fmt.Errorf("and %d rows after it were not tried", l.untried))
	}
	return errs
}
