package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/lambdatest"
)

func failedResponse(kind, message string) lambdatest.Response {
	return lambdatest.Response{ErrorType: kind, ErrorMessage: message}
}

func TestScheduleSkipsTheTicksOfARunThatIsNotOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, stop := time.Now(), make(chan struct{})
		var starts []time.Duration
		s := &schedule{every: 2 * time.Second, invoke: func(ctx context.Context) (lambdatest.Response, error) {
			starts = append(starts, time.Since(began))
			if len(starts) == 3 {
				close(stop)
			}
			return lambdatest.Response{}, wait(ctx, 3*time.Second)
		}}

		require.NoError(t, s.run(t.Context(), stop))

		require.Equal(t, []time.Duration{0, 4 * time.Second, 8 * time.Second}, starts)
		require.Equal(t, 11*time.Second, time.Since(began)) // the last run has ended
		require.Equal(t, runs{good: 3}, s.runs)
	})
}

func TestScheduleEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &schedule{every: time.Hour, invoke: func(context.Context) (lambdatest.Response, error) {
		cancel()
		return lambdatest.Response{}, nil
	}}
	require.ErrorIs(t, s.run(ctx, nil), context.Canceled)
}

func TestRunsAreCountedByHowTheyEnded(t *testing.T) {
	t.Parallel()
	var r runs
	r.add(lambdatest.Response{Payload: []byte("{}")}, nil)
	r.add(lambdatest.Response{ErrorType: "Runtime.ExitError", Crashed: true}, nil)
	r.add(lambdatest.Response{ErrorType: "Sandbox.Timedout", ErrorMessage: "Task timed out", TimedOut: true}, nil)
	require.Equal(t, runs{good: 1, crashed: 1, errors: 1, lastError: "Sandbox.Timedout: Task timed out"}, r)

	r.add(lambdatest.Response{}, errors.New("invoke: refused"))
	require.Equal(t, runs{good: 1, crashed: 1, errors: 2, lastError: "invoke: refused"}, r)
}
