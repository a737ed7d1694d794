package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGaugeKeepsWhatTheFunctionLagMeasured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gauge{function: answering(
			`{"oldest_unpublished_age_seconds":1.25,"unpublished":3,"failed":2,"paused":1}`,
			`{"oldest_unpublished_age_seconds":0,"unpublished":0,"failed":0,"paused":0}`,
		)}
		_, known := g.now(time.Now())
		require.False(t, known, "before the first measurement")

		_, err := g.measure(t.Context())
		require.NoError(t, err)
		first := lag{begun: time.Now(), oldest: 1250 * time.Millisecond, unpublished: 3, failed: 2, paused: 1}
		now, known := g.now(first.begun.Add(lagStale))
		require.Equal(t, first, now)
		require.True(t, known)
		_, known = g.now(first.begun.Add(lagStale + 1))
		require.False(t, known, "too old")

		_, err = g.measure(t.Context())
		require.NoError(t, err)
		require.Equal(t, []lag{first, {begun: time.Now()}}, g.all())
	})
}

func TestWhatCannotBeMeasuredIsUnknownAndSaid(t *testing.T) {
	t.Parallel()
	for _, answers := range [][]string{{}, {`{}`}, {`{"oldest_unpublished_age_seconds":null}`}, {`"text"`}} {
		var said []string
		g := &gauge{function: answering(answers...), say: func(format string, args ...any) {
			said = append(said, fmt.Sprintf(format, args...))
		}}
		g.lags = []lag{{begun: time.Now()}}

		_, err := g.measure(t.Context())

		require.Error(t, err)
		_, known := g.now(time.Now())
		require.False(t, known, answers)
		require.Len(t, said, 1)
		require.Contains(t, said[0], "the lag could not be measured: ")
		require.Len(t, g.all(), 1)
	}
}

func TestTallyAddsUpWhatCleanupDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tally := &tally{function: answering(`{"deleted":3,"deleted_failed":1}`, `{"deleted":0}`, `{"deleted":4,"deleted_failed":2}`)}
		require.Zero(t, tally.deleted())
		began := time.Now()
		for range 3 {
			_, err := tally.clean(t.Context())
			require.NoError(t, err)
			require.NoError(t, wait(t.Context(), time.Second)) // in virtual time
		}

		_, err := tally.clean(t.Context())

		require.ErrorContains(t, err, "TestError")
		require.Equal(t, 7, tally.deleted())
		require.Equal(t, []deletion{
			{by: began, rows: 3, rowsOfFailed: 1},
			{by: began.Add(time.Second), rows: 3, rowsOfFailed: 1},
			{by: began.Add(2 * time.Second), rows: 7, rowsOfFailed: 3},
		}, tally.all())
	})
}
