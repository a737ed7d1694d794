package main

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/emf"
	"outboxrelay/internal/outbox"
)

func TestSpreadOfNothingIsZero(t *testing.T) {
	t.Parallel()

	require.Equal(t, []float64{0}, spread(nil))
}

func TestSpreadIsInMillisecondsAndSorted(t *testing.T) {
	t.Parallel()

	durations := []time.Duration{time.Second, 1500 * time.Microsecond, -time.Millisecond, 2 * time.Nanosecond}
	require.Equal(t, []float64{-1, 0, 1.5, 1000}, spread(durations))
	require.Equal(t, time.Second, durations[0], "what it was given has changed")
}

func TestSpreadKeepsAsManyAsALineHolds(t *testing.T) {
	t.Parallel()

	for _, n := range []int{1, 2, 99, 100} {
		require.Len(t, spread(descending(n)), n)
	}
	for _, n := range []int{101, 150, 1000} {
		values := spread(descending(n))
		require.Len(t, values, 100)
		require.True(t, slices.IsSorted(values))
		require.InDelta(t, 1, values[0], 0, "the least of %d", n)
		require.InDelta(t, n, values[99], 0, "the greatest of %d", n)
		require.Len(t, slices.Compact(values), 100, "a rank was taken twice of %d", n)
		require.InDelta(t, float64(n)/2, values[50], float64(n)/50, "the middle of %d", n)
	}
}

// descending is n ms, n-1 ms, and so on down to 1 ms.
func descending(n int) []time.Duration {
	durations := make([]time.Duration, n)
	for i := range durations {
		durations[i] = time.Duration(n-i) * time.Millisecond
	}
	return durations
}

func TestMetricsHaveAValueEach(t *testing.T) {
	t.Parallel()

	require.Equal(t, []emf.Metric{
		{Name: "EventsPublished", Unit: emf.Count, Values: []float64{0}},
		{Name: "EventsFailed", Unit: emf.Count, Values: []float64{0}},
		{Name: "EventsDeferred", Unit: emf.Count, Values: []float64{0}},
		{Name: "PublishLatency", Unit: emf.Milliseconds, Values: []float64{0}},
		{Name: "BatchDuration", Unit: emf.Milliseconds, Values: []float64{0}},
	}, metrics(outbox.Report{}))

	require.Equal(t, []emf.Metric{
		{Name: "EventsPublished", Unit: emf.Count, Values: []float64{3}},
		{Name: "EventsFailed", Unit: emf.Count, Values: []float64{2}},
		{Name: "EventsDeferred", Unit: emf.Count, Values: []float64{1}},
		{Name: "PublishLatency", Unit: emf.Milliseconds, Values: []float64{5, 20}},
		{Name: "BatchDuration", Unit: emf.Milliseconds, Values: []float64{7}},
	}, metrics(outbox.Report{
		Published: 3, Failed: 2, Deferred: 1,
		Latencies:      []time.Duration{20 * time.Millisecond, 5 * time.Millisecond},
		BatchDurations: []time.Duration{7 * time.Millisecond},
	}))
}

func TestRelayErrorTellsTheCauseAndWhatWasDoneBefore(t *testing.T) {
	t.Parallel()

	cause := errors.New("bus orders: AccessDeniedException")
	err := &RelayError{report: outbox.Report{Published: 3, Failed: 2, Deferred: 1}, cause: cause}
	require.EqualError(t, err, "bus orders: AccessDeniedException (in this run: 3 published, 2 failed, 1 deferred)")
	require.ErrorIs(t, err, cause)
}
