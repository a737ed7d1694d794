package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// quick is what a batch gets: it holds its locks no longer.
	quick = 200 * time.Millisecond
	// patient is what a row gets that could not be deleted as quickly: it may
	// be large.
	patient = 10 * time.Second
	// searching is what a search gets: it locks nothing.
	searching = 15 * time.Second
	// least is what the last two get, however little time is left.
	least = time.Second
	// travel is for the way of a statement to the store and back. The reserve is
	// there for a way that takes longer, or a rollback.
	travel = 300 * time.Millisecond

	// slow and fast batches make the next one smaller and larger. With longer ones
	// the commits of others wait for what a batch has written (make bench
	// BENCH=cleanup).
	slow = 4 * time.Millisecond
	fast = 2 * time.Millisecond

	// bearable is how many rows in a row may be passed over, one try each,
	// before others are skipped.
	bearable = 8
)

// sweep deletes the rows of one kind. It moves on from the first row that has
// expired: what a batch could not delete is left to the next run. Only to what it
// has skipped it goes back in the end.
type sweep struct {
	cleanup   *cleanup
	kind      RowKind
	retention time.Duration

	after, upto Place // what is left is between them
	rows        int   // that the next batch asks for
	passed      int   // rows that could not be deleted since one was
	skip        int   // rows to skip the next time that it takes too long
	skipped     []stretch
	back        bool // it is in one of these
}

// stretch is what was skipped.
type stretch struct {
	after, upto Place
	rows        int
	exact       bool // else there are fewer, perhaps
}

func newSweep(c *cleanup, kind RowKind, retention time.Duration) *sweep {
	return &sweep{cleanup: c, kind: kind, retention: retention, after: foremost, rows: c.cleaner.config.BatchSize, skip: 1}
}

// run deletes until nothing is left, which it reports, or no time.
func (s *sweep) run(ctx context.Context) (done bool, err error) {
	_, more, err := s.search(ctx, 0)
	err = s.walk(ctx, more, err)
	for err == nil && len(s.skipped) > 0 {
		err = s.goBack(ctx)
	}
	for _, left := range s.skipped {
		s.cleanup.leftovers.skip(left.rows, left.exact)
	}
	if errors.Is(err, errNoTime) {
		return false, nil
	}
	return err == nil, err
}

// walk deletes as long as there is more.
func (s *sweep) walk(ctx context.Context, more bool, err error) error {
	for more && err == nil {
		more, err = s.batch(ctx)
	}
	return err
}

// goBack tries what was skipped first, row by row where it has to.
func (s *sweep) goBack(ctx context.Context) error {
	first := s.skipped[0]
	s.after, s.upto, s.back = first.after, first.upto, true
	s.rows = s.cleanup.cleaner.config.BatchSize
	err := s.walk(ctx, true, nil)
	if err == nil {
		s.skipped = s.skipped[1:]
	}
	return err
}

// search moves on to the next row that is there, or to one further on. Entries
// of deleted rows before it, which are many while vacuum cannot remove them, are
// walked without locks.
func (s *sweep) search(ctx context.Context, skip int) (row Place, found bool, err error) {
	limit := s.cleanup.limit(searching)
	storeCtx, cancel, err := s.cleanup.call(ctx, limit)
	if err != nil {
		return Place{}, false, err
	}
	defer cancel()
	expired, err := s.cleanup.session.Oldest(storeCtx, Search{s.kind, s.after, skip, s.retention, limit})
	if err != nil {
		return Place{}, false, s.notFound(err, limit)
	}
	if s.back {
		return expired.First, expired.Found && !s.upto.less(expired.First), nil
	}
	s.after, s.upto = expired.First.before(), expired.Upto
	return expired.First, expired.Found, nil
}

// notFound says what may have undone a search, and what to do.
func (s *sweep) notFound(err error, limit time.Duration) error {
	undone, ok := errors.AsType[*UndoneError](err)
	switch {
	case !ok:
		return err
	case undone.By == ByLimit:
		return fmt.Errorf("no %s could be found within %s: the entries that deleted rows have left in its index may be in the way, "+
			"which vacuum cannot remove while a transaction elsewhere stays open: %w", s.kind, limit.Round(time.Millisecond), err)
	case undone.By == ByLock:
		return fmt.Errorf("no %s could be looked for: somebody holds a lock on the table, a migration perhaps; "+
			"if it does not pass, see pg_locks for who does: %w", s.kind, err)
	}
	return fmt.Errorf("no %s could be looked for: %w", s.kind, err)
}

// batch deletes some rows. One that was too much for the database is tried
// again with half as many, down to one.
func (s *sweep) batch(ctx context.Context) (more bool, err error) {
	deleted, err := s.delete(ctx, Deletion{s.kind, s.after, s.upto, s.rows, quick})
	switch {
	case undone(err) && s.rows == 1:
		return s.single(ctx)
	case undone(err):
		s.rows /= 2
		return true, nil
	case err != nil || deleted.Locked < s.rows:
		return false, err
	}
	s.after = deleted.Last
	s.adapt(deleted.Took)
	s.cleanup.budget.sleep(ctx, s.cleanup.cleaner.config.Pause)
	return true, nil
}

// adapt chooses the size of the next batch by how long this one took in the
// store: a store that is far away holds no lock for longer.
func (s *sweep) adapt(took time.Duration) {
	switch {
	case took > slow:
		s.rows = max(1, s.rows/2)
	case took < fast:
		s.rows = min(2*s.rows, s.cleanup.cleaner.config.BatchSize)
	}
}

// single deletes the next row with patience, or passes it over.
func (s *sweep) single(ctx context.Context) (more bool, err error) {
	row, found, err := s.search(ctx, 0)
	if err != nil || !found {
		return false, err
	}
	limit := s.cleanup.limit(patient)
	_, err = s.delete(ctx, Deletion{s.kind, row.before(), row, 1, limit})
	s.after = row
	if undone, ok := errors.AsType[*UndoneError](err); ok {
		s.cleanup.leftovers.add(s.kind, row.Seq, 1, fmt.Errorf("tried alone, for at most %s: %w", limit.Round(time.Millisecond), err))
		return s.passOver(ctx, undone.By)
	}
	return true, err
}

// passOver goes on after a row that could not be deleted. Where each such row is
// followed by another, or costs much time, it skips more and more of them
// untried: a run would get to nothing that is behind them.
func (s *sweep) passOver(ctx context.Context, by UndoneBy) (more bool, err error) {
	s.passed++
	if s.back || s.passed < bearable && by != ByLimit {
		return true, nil
	}
	skipped := stretch{s.after, s.upto, s.skip, true}
	next, more, err := s.search(ctx, s.skip)
	if err != nil {
		return false, err
	}
	if skipped.exact = more; more {
		skipped.upto = next.before()
	}
	s.skipped = append(s.skipped, skipped)
	s.skip *= 2
	return more, nil
}

// delete has the store delete rows and notes what it did.
func (s *sweep) delete(ctx context.Context, deletion Deletion) (Deleted, error) {
	storeCtx, cancel, err := s.cleanup.call(ctx, deletion.Limit)
	if err != nil {
		return Deleted{}, err
	}
	defer cancel()
	began := time.Now()
	deleted, err := s.cleanup.session.Delete(storeCtx, deletion)
	s.cleanup.cleaner.log.DebugContext(ctx, "batch ended", "of", s.kind.String(), "asked", deletion.Rows,
		"deleted", deleted.Deleted, "took_us", time.Since(began).Microseconds())
	if err != nil {
		return Deleted{}, err
	}
	s.cleanup.count(s.kind, deleted)
	if deleted.Deleted > 0 {
		s.passed, s.skip = 0, 1
	}
	if kept := deleted.Locked - deleted.Deleted; kept > 0 {
		s.cleanup.leftovers.add(s.kind, deleted.Kept, kept, errDropped)
	}
	return deleted, nil
}

// undone reports that the store has undone what it was asked for, so that less
// of it may succeed.
func undone(err error) bool {
	_, ok := errors.AsType[*UndoneError](err)
	return ok
}
