package outbox_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// keptRow is a row that a cleanup may delete. Its time is in seconds.
type keptRow struct {
	outbox.Place

	kind outbox.RowKind
}

// fakeCleanup keeps rows in memory, of which those up to a time have expired
// once a retention is over: a row's time is how old it is, in seconds, negated.
type fakeCleanup struct {
	// Hooks; nil: all goes well.
	refuses func(seq int64) error         // a trigger is against the row
	drops   func(seq int64) bool          // a trigger keeps the row unseen
	cost    func(seq int64) time.Duration // of deleting the row
	locked  func(seq int64) bool          // by somebody else
	fails   func(batch int) error         // the connection is lost
	walk    time.Duration                 // of each search
	trip    time.Duration                 // to the store and back
	against map[outbox.RowKind]error      // searches that are undone
	connect error

	rows      []keptRow
	searches  []outbox.Search
	deletions []outbox.Deletion
	began     []time.Time     // of the deletions
	took      []time.Duration // the same
	open      int
}

func newCleanup(rows ...keptRow) *fakeCleanup {
	slices.SortFunc(rows, func(a, b keptRow) int { return order(a.Place, b.Place) })
	return &fakeCleanup{rows: rows}
}

// aged makes rows with seq from first on, all as old.
func aged(kind outbox.RowKind, age time.Duration, first int64, n int) []keptRow {
	made := make([]keptRow, n)
	for i := range made {
		made[i] = keptRow{outbox.Place{At: -int64(age / time.Second), Seq: first + int64(i)}, kind}
	}
	return made
}

func order(a, b outbox.Place) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Seq, b.Seq))
}

func (f *fakeCleanup) seqs(kind outbox.RowKind) []int64 {
	left := []int64{}
	for _, row := range f.rows {
		if row.kind == kind {
			left = append(left, row.Seq)
		}
	}
	slices.Sort(left)
	return left
}

func (f *fakeCleanup) Connect(context.Context) (outbox.CleanupSession, error) {
	if f.connect != nil {
		return nil, f.connect
	}
	f.open++
	return &fakeCleanupSession{f, false}, nil
}

type fakeCleanupSession struct {
	*fakeCleanup

	broken bool
}

func (f *fakeCleanupSession) Close(context.Context) { f.open-- }

func (f *fakeCleanupSession) Oldest(ctx context.Context, search outbox.Search) (outbox.Expired, error) {
	f.use()
	f.searches = append(f.searches, search)
	if err := f.against[search.Kind]; err != nil {
		return outbox.Expired{}, err
	}
	if err := f.wait(ctx, f.trip+min(f.walk, search.Limit)); err != nil {
		return outbox.Expired{}, err
	}
	if f.walk > search.Limit {
		return outbox.Expired{}, &outbox.UndoneError{Cause: errStatementTimeout}
	}
	expired := outbox.Expired{Upto: outbox.Place{At: -int64(search.Retention/time.Second) - 1, Seq: 1 << 62}}
	for _, row := range f.rows {
		if row.kind != search.Kind || order(row.Place, search.After) <= 0 || order(row.Place, expired.Upto) > 0 {
			continue
		}
		if search.Skip == 0 {
			expired.Found, expired.First = true, row.Place
			break
		}
		search.Skip--
	}
	return expired, nil
}

// wait takes time, unless the caller's is over before.
func (f *fakeCleanupSession) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	f.broken = ctx.Err() != nil
	return context.Cause(ctx)
}

func (f *fakeCleanupSession) Delete(ctx context.Context, deletion outbox.Deletion) (outbox.Deleted, error) {
	f.use()
	f.deletions, f.began = append(f.deletions, deletion), append(f.began, time.Now())
	if err := f.wait(ctx, f.trip); err != nil {
		return outbox.Deleted{}, err
	}
	began := time.Now()
	defer func() { f.took = append(f.took, time.Since(began)) }()
	if f.fails != nil {
		if err := f.fails(len(f.deletions)); err != nil {
			f.broken = true
			return outbox.Deleted{}, err
		}
	}
	found := f.find(deletion)
	var gone []int64
	for _, seq := range found {
		if err := f.delete(seq, deletion.Limit-time.Since(began)); err != nil {
			return outbox.Deleted{}, undoneBy(err)
		}
		if f.drops == nil || !f.drops(seq) {
			gone = append(gone, seq)
		}
	}
	took := time.Since(began)
	if err := f.wait(ctx, 0); err != nil {
		return outbox.Deleted{}, err
	}
	return f.remove(deletion.Kind, found, gone, took), nil
}

// use notes that a session must not be used after an error.
func (f *fakeCleanupSession) use() {
	if f.broken {
		panic("a session was used after an error")
	}
}

// find lists the rows that a deletion locks.
func (f *fakeCleanup) find(deletion outbox.Deletion) (found []int64) {
	for _, row := range f.rows {
		if row.kind == deletion.Kind && order(row.Place, deletion.After) > 0 && order(row.Place, deletion.Upto) <= 0 &&
			(f.locked == nil || !f.locked(row.Seq)) && len(found) < deletion.Rows {
			found = append(found, row.Seq)
		}
	}
	return found
}

// delete takes the time that the row costs, as far as there is any.
func (f *fakeCleanup) delete(seq int64, left time.Duration) error {
	if f.refuses != nil {
		if err := f.refuses(seq); err != nil {
			return err
		}
	}
	if f.cost == nil {
		return nil
	}
	if f.cost(seq) > left {
		time.Sleep(left)
		return errStatementTimeout
	}
	time.Sleep(f.cost(seq))
	return nil
}

func (f *fakeCleanup) remove(kind outbox.RowKind, found, gone []int64, took time.Duration) outbox.Deleted {
	deleted := outbox.Deleted{Locked: len(found), Deleted: len(gone), Took: took}
	for _, row := range f.rows {
		if row.kind == kind && slices.Contains(found, row.Seq) {
			deleted.Last = row.Place
			if !slices.Contains(gone, row.Seq) && deleted.Kept == 0 {
				deleted.Kept = row.Seq
			}
		}
	}
	f.rows = slices.DeleteFunc(f.rows, func(row keptRow) bool { return row.kind == kind && slices.Contains(gone, row.Seq) })
	return deleted
}

func undoneBy(err error) error {
	if errors.Is(err, errStatementTimeout) {
		return &outbox.UndoneError{By: outbox.ByLimit, Cause: err}
	}
	return &outbox.UndoneError{By: outbox.ByRefusal, Cause: err}
}

var errStatementTimeout = errors.New("canceling statement due to statement timeout")

func refusal(seqs ...int64) func(int64) error {
	return func(seq int64) error {
		if slices.Contains(seqs, seq) {
			return fmt.Errorf("%d is out of the question", seq)
		}
		return nil
	}
}

func cleanerConfig() outbox.CleanerConfig {
	return outbox.CleanerConfig{Retention: time.Hour, BatchSize: 100, Pause: 50 * time.Millisecond}
}

// clean runs a cleaner once, for at most the given time.
func clean(t *testing.T, store outbox.CleanupStore, config outbox.CleanerConfig, timeout time.Duration) (outbox.CleanupReport, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	report, err := outbox.NewCleaner(store, config, discard).Run(ctx)
	require.NoError(t, ctx.Err(), "the run did not end before its deadline")
	return report, err
}
