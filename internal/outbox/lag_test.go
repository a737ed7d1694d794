package outbox_test

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// fakeLagStore answers as told and keeps what it was asked.
type fakeLagStore struct {
	answer func(scan outbox.LagScan) (outbox.Measurement, error)
	scans  []outbox.LagScan
	until  []time.Time
}

func (s *fakeLagStore) Measure(ctx context.Context, scan outbox.LagScan) (outbox.Measurement, error) {
	s.scans = append(s.scans, scan)
	deadline, _ := ctx.Deadline()
	s.until = append(s.until, deadline)
	return s.answer(scan)
}

// last is the latest scan, and whether it started from the front.
func (s *fakeLagStore) last() (scan outbox.LagScan, fromFront bool) {
	scan = s.scans[len(s.scans)-1]
	return scan, scan.After == math.MinInt64 && scan.PublishedSince.IsZero()
}

// walked is a measurement that took so long from the front, when three events
// were pending, 11 to 13.
func walked(took time.Duration) func(outbox.LagScan) (outbox.Measurement, error) {
	return func(scan outbox.LagScan) (outbox.Measurement, error) {
		measured := outbox.Measurement{
			Lag: outbox.Lag{Unpublished: 3}, First: 11, Greatest: 13, OldestPublished: published, Took: time.Millisecond,
		}
		if scan.After < 0 {
			measured.Took = took
		}
		return measured, nil
	}
}

var published = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

func measure(t *testing.T, probe *outbox.LagProbe) outbox.Lag {
	t.Helper()
	lag, err := probe.Measure(t.Context())
	require.NoError(t, err)
	return lag
}

func newProbe(answer func(outbox.LagScan) (outbox.Measurement, error)) (*outbox.LagProbe, *fakeLagStore) {
	store := &fakeLagStore{answer: answer}
	return outbox.NewLagProbe(store, discard), store
}

func TestLagProbeReturnsWhatTheStoreMeasured(t *testing.T) {
	t.Parallel()

	want := outbox.Lag{
		OldestUnpublishedAge: time.Second, Unpublished: 2, UnpublishedIsLowerBound: true, Failed: 3, Paused: 4,
		OldestPublishedAge: time.Minute, DeadRows: 5, OldestTransactionAge: time.Hour,
	}
	probe, _ := newProbe(func(outbox.LagScan) (outbox.Measurement, error) { return outbox.Measurement{Lag: want}, nil })
	require.Equal(t, want, measure(t, probe))
}

func TestLagProbeReturnsNothingBesideAnError(t *testing.T) {
	t.Parallel()

	probe, _ := newProbe(func(outbox.LagScan) (outbox.Measurement, error) {
		return outbox.Measurement{Lag: outbox.Lag{Unpublished: 1}}, errConnection
	})
	lag, err := probe.Measure(t.Context())
	require.ErrorIs(t, err, errConnection)
	require.ErrorContains(t, err, "measure lag: ")
	require.Zero(t, lag)
}

func TestLagProbeStartsFromTheFrontEachTimeWhileThatIsCheap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		probe, store := newProbe(walked(500 * time.Millisecond))
		for range 10 {
			measure(t, probe)
			_, fromFront := store.last()
			require.True(t, fromFront)
			time.Sleep(time.Minute)
		}
	})
}

func TestLagProbeComesBackToTheFrontByWhatThatCosts(t *testing.T) {
	t.Parallel()
	for took, pause := range map[time.Duration]time.Duration{
		10 * time.Millisecond: time.Second,
		time.Second:           100 * time.Second,
		3 * time.Second:       5 * time.Minute,
		time.Hour:             5 * time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			probe, store := newProbe(walked(took))
			for range 3 {
				measure(t, probe)
				_, fromFront := store.last()
				require.True(t, fromFront)

				time.Sleep(pause - time.Nanosecond)
				measure(t, probe)
				scan, fromFront := store.last()
				require.False(t, fromFront)
				require.EqualValues(t, 10, scan.After, "the first pending row is looked at again")
				require.Equal(t, published, scan.PublishedSince)
				time.Sleep(time.Nanosecond)
			}
		})
	}
}

func TestLagProbeStartsAgainAfterTheGreatestSeqWhereNothingIsPending(t *testing.T) {
	t.Parallel()

	answers := []outbox.Measurement{
		{First: math.MaxInt64, Greatest: 20, Took: time.Hour},
		{First: 25, Greatest: 30},
		{First: math.MaxInt64, Greatest: 24}, // the others were published and deleted
		{First: 5, Greatest: 30, OldestPublished: published},
		{First: math.MaxInt64, Greatest: 4}, // nothing has a seq after 4
	}
	probe, store := newProbe(nil)
	store.answer = func(outbox.LagScan) (outbox.Measurement, error) { return answers[len(store.scans)-1], nil }
	for range answers {
		measure(t, probe)
	}
	store.answer = walked(0)
	measure(t, probe)

	for i, after := range []int64{math.MinInt64, 20, 24, 30, 4, 30} {
		require.Equal(t, after, store.scans[i].After, i)
	}
	require.Equal(t, published, store.scans[5].PublishedSince, "none was found since: it is the last that is known")
}

func TestLagProbeRepeatsAFrontThatFailed(t *testing.T) {
	t.Parallel()

	probe, store := newProbe(func(outbox.LagScan) (outbox.Measurement, error) { return outbox.Measurement{}, errConnection })
	for range 2 {
		_, err := probe.Measure(t.Context())
		require.Error(t, err)
		_, fromFront := store.last()
		require.True(t, fromFront)
	}
}

func TestLagProbeKeepsItsFloorThroughAFailure(t *testing.T) {
	t.Parallel()

	probe, store := newProbe(walked(time.Hour))
	measure(t, probe)
	store.answer = func(outbox.LagScan) (outbox.Measurement, error) { return outbox.Measurement{}, errConnection }
	_, err := probe.Measure(t.Context())
	require.Error(t, err)
	store.answer = walked(time.Hour)
	measure(t, probe)
	scan, _ := store.last()
	require.EqualValues(t, 10, scan.After)
}

func TestLagProbeLooksFromTheFrontWhereTheFloorIsNoHelp(t *testing.T) {
	t.Parallel()

	probe, store := newProbe(walked(time.Hour))
	measure(t, probe)
	store.answer = func(scan outbox.LagScan) (outbox.Measurement, error) {
		if scan.After > 0 {
			return outbox.Measurement{}, outbox.ErrTooSlow
		}
		return outbox.Measurement{Lag: outbox.Lag{Unpublished: 7}}, nil
	}
	require.Equal(t, 7, measure(t, probe).Unpublished)
	require.Len(t, store.scans, 3)

	store.answer = func(outbox.LagScan) (outbox.Measurement, error) { return outbox.Measurement{}, outbox.ErrTooSlow }
	_, err := probe.Measure(t.Context())
	require.ErrorIs(t, err, outbox.ErrTooSlow)
}

func TestLagProbeKeepsWithinTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		probe, store := newProbe(walked(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		deadline, _ := ctx.Deadline()

		for range 2 {
			_, err := probe.Measure(ctx)
			require.NoError(t, err)
		}
		require.Equal(t, []time.Duration{5 * time.Minute, 5 * time.Second}, []time.Duration{store.scans[0].Limit, store.scans[1].Limit})
		require.Equal(t, []time.Time{deadline.Add(-time.Second), deadline.Add(-time.Second)}, store.until)

		time.Sleep(28 * time.Second)
		_, err := probe.Measure(ctx)
		require.NoError(t, err)

		time.Sleep(time.Nanosecond)
		lag, err := probe.Measure(ctx)
		require.ErrorContains(t, err, "measure lag: no time to measure: 2s are left before the deadline, 2s are needed; give the function a longer timeout")
		require.Zero(t, lag)
		require.Len(t, store.scans, 3)
		_, err = probe.Measure(t.Context())
		require.NoError(t, err)
		require.Zero(t, store.until[3])
	})
}

func TestLagProbeWarnsOnceOfWhatIsUnseen(t *testing.T) {
	t.Parallel()

	var log strings.Builder
	store := &fakeLagStore{}
	probe := outbox.NewLagProbe(store, slog.New(slog.NewTextHandler(&log, nil)))
	for _, unseen := range []string{"", "grant it", "grant it", "", "grant it"} {
		store.answer = func(outbox.LagScan) (outbox.Measurement, error) { return outbox.Measurement{Unseen: unseen}, nil }
		measure(t, probe)
	}
	require.Equal(t, 2, strings.Count(log.String(), "level=WARN"))
	require.Contains(t, log.String(), `reason="grant it"`)
}

func TestLagProbeSaysThatThereWasNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var cause error
		probe := outbox.NewLagProbe(lagStore(func(ctx context.Context, _ outbox.LagScan) (outbox.Measurement, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return outbox.Measurement{}, ctx.Err()
		}), discard)
		_, err := probe.Measure(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, cause, "the database did not answer within 2s")
		require.NoError(t, ctx.Err(), "there is no time left to answer in")
	})
}

type lagStore func(context.Context, outbox.LagScan) (outbox.Measurement, error)

func (s lagStore) Measure(ctx context.Context, scan outbox.LagScan) (outbox.Measurement, error) {
	return s(ctx, scan)
}
