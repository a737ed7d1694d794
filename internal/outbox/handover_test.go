package outbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// polling is a relay's way to be always at work.
func polling(parallel int) outbox.Config {
	config := config()
	config.PollInterval, config.Parallel = time.Second, parallel
	return config
}

// run is a relay at work.
type run struct {
	ended  chan struct{}
	report outbox.Report
	err    error
	at     time.Time // when it ended
}

// begin starts a run that has two minutes.
func begin(t *testing.T, store outbox.Store, publisher outbox.Publisher, config outbox.Config) *run {
	t.Helper()
	r := &run{ended: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	go func() {
		defer close(r.ended)
		defer cancel()
		r.report, r.err = outbox.NewRelay(store, publisher, config, discard).Run(ctx)
		r.at = time.Now()
	}()
	return r
}

func (r *run) wait(t *testing.T) outbox.Report {
	t.Helper()
	<-r.ended
	require.NoError(t, r.err)
	return r.report
}

// requireHandedOver says that the run had ended a poll interval after a moment.
func (r *run) requireHandedOver(t *testing.T, since time.Time) outbox.Report {
	t.Helper()
	report := r.wait(t)
	require.True(t, report.HandedOver)
	require.WithinRange(t, r.at, since, since.Add(time.Second))
	return report
}

// requireKept says that the run went on until its budget ended.
func (r *run) requireKept(t *testing.T) outbox.Report {
	t.Helper()
	report := r.wait(t)
	require.False(t, report.HandedOver)
	require.Equal(t, outbox.OutOfTime, report.Stopped)
	require.Greater(t, report.Duration, 100*time.Second)
	return report
}

func TestRelayEndsWithinAPollOnceANewerRunIsAtWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(3, 1, "b")...), newPublisher()
		older := begin(t, store, publisher, polling(1))
		time.Sleep(60*time.Second + 300*time.Millisecond)
		newer, since := begin(t, store, publisher, polling(1)), time.Now()

		report := older.requireHandedOver(t, since)
		require.Equal(t, outbox.Drained, report.Stopped, "its last claim found nothing")
		require.Equal(t, 3, report.Published)
		store.insert(events(2, 4, "b")...)
		require.Equal(t, 2, newer.requireKept(t).Published)
		require.Zero(t, store.open)
	})
}

// Those that were scheduled together go together, one for one.
func TestRelayMakesWayWhereAsManyNewerRunsAreAtWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(), newPublisher()
		first := begin(t, store, publisher, polling(2))
		time.Sleep(10 * time.Millisecond)
		second := begin(t, store, publisher, polling(2))
		time.Sleep(time.Minute)
		third, since := begin(t, store, publisher, polling(2)), time.Now()
		first.requireHandedOver(t, since)
		time.Sleep(20 * time.Second)
		fourth, since := begin(t, store, publisher, polling(2)), time.Now()
		second.requireHandedOver(t, since)

		third.requireKept(t)
		fourth.requireKept(t)
	})
}

// As when an application nudges the relay after each of its commits.
func TestManyRunsAtOnceLeaveAsManyAsAreToBeAtWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(5_000, 1, "b")...), newPublisher()
		publisher.latency = func() time.Duration { return 20 * time.Millisecond }
		runs := make([]*run, 100)
		for i := range runs {
			runs[i] = begin(t, store, publisher, polling(3))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()

		require.Empty(t, store.pending())
		require.Empty(t, publisher.acceptedAgain())
		kept := 0
		for _, run := range runs {
			if !run.wait(t).HandedOver {
				kept++
			}
		}
		require.Equal(t, 3, kept)
	})
}

// What it has claimed it publishes, since the newer run is past those rows. The
// connections of both are never many more than those of one.
func TestABusyRelayFinishesItsBatchesAndMakesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := polling(1)
		config.Workers, config.BatchSize = 4, 100
		store, publisher := newStore(events(40_000, 1, "b")...), newPublisher()
		publisher.latency = func() time.Duration { return 20 * time.Millisecond }
		older := begin(t, store, publisher, config)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 4, store.open)
		newer, since := begin(t, store, publisher, config), time.Now()

		report := older.requireHandedOver(t, since)
		require.Equal(t, outbox.OutOfTime, report.Stopped, "its last claim found something")
		require.Less(t, report.Published, 40_000)
		require.Equal(t, 40_000, report.Published+newer.requireKept(t).Published)
		require.Equal(t, 5, store.mostOpen)
		for _, row := range store.rows {
			require.Equal(t, 1, row.claimed, "event %d", row.Seq)
		}
		require.Empty(t, publisher.acceptedAgain())
	})
}

func TestANewerRunThatCannotClaimEndsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(), newPublisher()
		older := begin(t, store, publisher, polling(1))
		time.Sleep(30 * time.Second)
		store.do(func() {
			store.claim = func(claim outbox.Claim) error {
				if claim.Turn == outbox.TakeTurn {
					return errConnection
				}
				return nil
			}
		})
		newer := begin(t, store, publisher, polling(1))

		<-newer.ended
		require.ErrorIs(t, newer.err, errConnection)
		require.False(t, newer.report.HandedOver)
		older.requireKept(t)
	})
}

// A number is taken once, whatever becomes of the session.
func TestARunKeepsItsNumberOnANewSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(), newPublisher()
		broken := false
		time.AfterFunc(30*time.Second, func() { store.do(func() { broken = true }) })
		store.claim = func(outbox.Claim) error {
			if broken {
				broken = false
				return errConnection
			}
			return nil
		}

		begin(t, store, publisher, polling(1)).requireKept(t)

		require.Equal(t, 2, store.connects)
		require.EqualValues(t, 1, store.turn)
	})
}

// The sequence was made anew: numbers begin at 1 again.
func TestARunThatSeesALowerNumberEndsWithItsBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(), newPublisher()
		store.turn = 1000
		older := begin(t, store, publisher, polling(1))
		time.Sleep(30 * time.Second)
		store.do(func() { store.turn = 0 })
		newer := begin(t, store, publisher, polling(1))

		older.requireKept(t)
		newer.requireKept(t)
		require.EqualValues(t, 1, store.turn)
	})
}

func TestARunThatDoesNotPollNeitherTakesANumberNorLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(5_000, 1, "b")...), newPublisher()
		publisher.latency = func() time.Duration { return 20 * time.Millisecond }
		draining := begin(t, store, publisher, config())
		time.Sleep(50 * time.Millisecond)
		require.NotEmpty(t, store.pending())

		report := draining.wait(t)
		require.Equal(t, 5_000, report.Published)
		require.False(t, report.HandedOver)
		for _, claim := range store.claims {
			require.Equal(t, outbox.NoTurn, claim.Turn)
		}
	})
}
