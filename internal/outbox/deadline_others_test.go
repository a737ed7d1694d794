package outbox_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// slowCleanup is a store to clean that is far away.
type slowCleanup struct {
	*fakeCleanup

	connecting, searching, deleting, closing spell

	underWay atomic.Int64
	lost     bool // the answer to a deletion
}

type slowCleanupSession struct {
	outbox.CleanupSession

	slow *slowCleanup
}

func (s *slowCleanup) Connect(ctx context.Context) (outbox.CleanupSession, error) {
	if err := s.connecting.begin(ctx, s.connecting.length()); err != nil {
		return nil, err
	}
	session, err := s.fakeCleanup.Connect(ctx)
	return &slowCleanupSession{session, s}, err
}

func (s *slowCleanupSession) Oldest(ctx context.Context, search outbox.Search) (outbox.Expired, error) {
	s.slow.underWay.Add(1)
	defer s.slow.underWay.Add(-1)
	if err := s.slow.searching.begin(ctx, s.slow.searching.length()); err != nil {
		return outbox.Expired{}, err
	}
	return s.CleanupSession.Oldest(ctx, search)
}

func (s *slowCleanupSession) Delete(ctx context.Context, deletion outbox.Deletion) (outbox.Deleted, error) {
	s.slow.underWay.Add(1)
	defer s.slow.underWay.Add(-1)
	length := s.slow.deleting.length()
	if err := s.slow.deleting.begin(ctx, length/2); err != nil {
		return outbox.Deleted{}, err
	}
	deleted, err := s.CleanupSession.Delete(ctx, deletion)
	if err == nil && pass(ctx, length-length/2) != nil {
		s.slow.lost = true
		return outbox.Deleted{}, context.Cause(ctx)
	}
	return deleted, err
}

func (s *slowCleanupSession) Close(ctx context.Context) {
	_ = s.slow.closing.begin(ctx, s.slow.closing.length())
	s.CleanupSession.Close(ctx)
}

// anyCleanup is a store with rows that have expired and rows that have not.
func anyCleanup(d *dice, calm bool) *slowCleanup {
	rows := append(aged(outbox.PublishedEvents, 2*time.Hour, 1, d.int(3_000)), aged(outbox.PublishedEvents, time.Minute, 10_001, 10)...)
	rows = append(rows, aged(outbox.FailedEvents, 2*time.Hour, 1, d.int(100))...)
	store := &slowCleanup{fakeCleanup: newCleanup(rows...)}
	most := pick(d, 10*time.Millisecond, time.Second, 30*time.Second)
	if calm {
		most = 100 * time.Millisecond
	}
	for _, spell := range []*spell{&store.connecting, &store.searching, &store.deleting, &store.closing} {
		spell.dice, spell.lag, spell.hangs, spell.fails = d, anyLag(d, most), rarely(d, calm), rarely(d, calm)
	}
	guarded, slow := rarely(d, false)/2, rarely(d, false)/4
	store.refuses = func(seq int64) error {
		if float64(seq*37%100) < 100*guarded {
			return fmt.Errorf("row %d is guarded", seq)
		}
		return nil
	}
	store.cost = func(seq int64) time.Duration {
		if float64(seq*41%100) < 100*slow {
			return 15 * time.Second
		}
		return 50 * time.Microsecond
	}
	return store
}

func TestACleanupEndsBeforeItsDeadlineWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("Seed", seed), func(t *testing.T) {
			t.Parallel()
			d := newDice(seed)
			budget, calm := d.between(time.Second, 15*time.Minute), d.hit(0.5)
			if d.hit(0.3) { // just enough
				budget = 3300*time.Millisecond + d.upTo(10*time.Second)
			}
			config := outbox.CleanerConfig{Retention: time.Hour, BatchSize: pick(d, 1, 100, 1000), Pause: d.upTo(time.Second)}
			config.FailedRetention = pick(d, 0, time.Hour)
			synctest.Test(t, func(t *testing.T) {
				store := anyCleanup(d, calm)
				rows, began := len(store.rows), time.Now()
				report, err := clean(t, store, config, budget)
				took := time.Since(began)

				require.LessOrEqual(t, took, max(0, budget-375*time.Millisecond), "the run ends by itself, with time for the answer")
				require.Zero(t, store.underWay.Load())
				require.Zero(t, store.open, "a session was left open")
				require.Subset(t, store.seqs(outbox.PublishedEvents), seqs(10_001, 10_010), "what has not expired stays")
				if deleted := rows - len(store.rows); store.lost {
					require.Error(t, err)
				} else {
					require.Equal(t, deleted, report.Deleted+report.DeletedFailed)
				}
				if calm {
					require.LessOrEqual(t, took, max(0, budget-2*time.Second)+time.Second, "the reserve is there for the store alone")
				}
				if err == nil {
					require.NotEmpty(t, store.searches, "nothing was done, and that is no error")
				}
				if err == nil && report.Stopped == outbox.Done {
					require.Len(t, store.seqs(outbox.PublishedEvents), 10, "it says that it is done")
				}
			})
		})
	}
}

func TestACleanupThatWaitedTooLongForTheDatabaseSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := anyCleanup(newDice(1), true)
		store.connecting.lag = always(9 * time.Second)
		_, err := clean(t, store, cleanerConfig(), 12*time.Second)
		require.ErrorContains(t, err, "no time for any work: the time of the run, 10s without the reserve, was over")
		require.Empty(t, store.searches)
	})
}

// slowLag is a store to measure that keeps to its promise: the context, and half
// a second.
type slowLag struct {
	measuring spell
	limits    bool // it gives up at the limit of a scan
}

func (s *slowLag) Measure(ctx context.Context, scan outbox.LagScan) (outbox.Measurement, error) {
	length := s.measuring.length()
	if s.limits && length > scan.Limit {
		if err := pass(ctx, scan.Limit); err != nil {
			return outbox.Measurement{}, err
		}
		return outbox.Measurement{}, outbox.ErrTooSlow
	}
	if err := s.measuring.begin(ctx, length); err != nil {
		time.Sleep(500 * time.Millisecond)
		return outbox.Measurement{}, err
	}
	return outbox.Measurement{Lag: outbox.Lag{Unpublished: 7}, First: 1, Greatest: 9, Took: length}, nil
}

func anySlowLag(d *dice) *slowLag {
	return &slowLag{spell{d, anyLag(d, pick(d, time.Second, time.Minute, time.Hour)), rarely(d, false), rarely(d, false)}, d.hit(0.5)}
}

func TestAMeasurementEndsBeforeItsDeadlineWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			d := newDice(seed)
			probe := outbox.NewLagProbe(anySlowLag(d), discard)
			for range 5 {
				budget := d.between(time.Second, 15*time.Minute)
				ctx, cancel := context.WithTimeout(t.Context(), budget)
				began := time.Now()
				lag, err := probe.Measure(ctx)
				cancel()
				require.LessOrEqual(t, time.Since(began), max(0, budget-500*time.Millisecond), "seed %d", seed)
				require.Equal(t, err == nil, lag.Unpublished == 7, "seed %d: a lag beside an error, or neither", seed)
				time.Sleep(d.upTo(2 * time.Minute))
			}
		})
	}
}

// slowAdmin is a store to administer that is far away.
type slowAdmin struct {
	*fakeAdmin

	calling, closing spell
}

func (s *slowAdmin) Connect(ctx context.Context) (outbox.AdminSession, error) {
	if err := s.calling.begin(ctx, s.calling.length()); err != nil {
		return nil, err
	}
	_, err := s.fakeAdmin.Connect(ctx)
	return s, err
}

func (s *slowAdmin) Find(ctx context.Context, selection outbox.Selection, toChange bool) (outbox.Found, error) {
	if err := s.calling.begin(ctx, s.calling.length()); err != nil {
		return outbox.Found{}, err
	}
	return s.fakeAdmin.Find(ctx, selection, toChange)
}

func (s *slowAdmin) Redrive(ctx context.Context, seqs []int64) ([]int64, error) {
	if err := s.calling.begin(ctx, s.calling.length()); err != nil {
		return nil, err
	}
	return s.fakeAdmin.Redrive(ctx, seqs)
}

func (s *slowAdmin) Overview(ctx context.Context) ([]outbox.PausedBus, []outbox.FailedBy, error) {
	if err := s.calling.begin(ctx, s.calling.length()); err != nil {
		return nil, nil, err
	}
	return s.fakeAdmin.Overview(ctx)
}

func (s *slowAdmin) Close(ctx context.Context) {
	s.closed++
	_ = s.closing.begin(ctx, s.closing.length())
}

func TestAnActionEndsBeforeItsDeadlineWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			d := newDice(seed)
			redriven := 0
			fake := &fakeAdmin{
				find:     func(bool) (outbox.Found, error) { return outbox.Found{Matched: 1, Events: failedEvents(7)}, nil },
				redrive:  func(seqs []int64) ([]int64, error) { redriven++; return seqs, nil },
				overview: func() ([]outbox.PausedBus, []outbox.FailedBy, error) { return nil, nil, nil },
			}
			store := &slowAdmin{fakeAdmin: fake}
			for _, spell := range []*spell{&store.calling, &store.closing} {
				spell.dice, spell.lag = d, anyLag(d, pick(d, time.Second, time.Minute))
				spell.hangs, spell.fails = rarely(d, false), rarely(d, false)
			}
			admin := outbox.NewAdmin(store, outbox.NewLagProbe(anySlowLag(d), discard))
			budget := d.between(500*time.Millisecond, 15*time.Minute)
			ctx, cancel := context.WithTimeout(t.Context(), budget)
			defer cancel()
			began := time.Now()
			if d.hit(0.5) {
				result, err := admin.Redrive(ctx, everyFailed)
				require.Equal(t, err == nil, redriven == 1, "seed %d", seed)
				require.Equal(t, redriven, result.Changed, "seed %d", seed)
			} else {
				status, err := admin.Status(ctx)
				require.True(t, err != nil || status.LagError != nil || status.Lag.Unpublished == 7, "seed %d: success without a lag", seed)
			}
			require.LessOrEqual(t, time.Since(began), max(0, budget-500*time.Millisecond), "seed %d", seed)
			require.Equal(t, fake.connected, fake.closed, "seed %d", seed)
		})
	}
}
