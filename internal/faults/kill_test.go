package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/lambdatest"
	"outboxrelay/internal/relaytest"
)

// killFaults are sandboxes that end in the middle of a run, without notice.
var killFaults = []fault{
	{
		name:  "the sandbox is killed while a claim's rows are on the way",
		how:   "SIGKILL before the first of 20 rows passes",
		kills: true,
		play:  func(t *testing.T, f *trial) { f.killedAt(t, replies, says(anEvent)) },
	},
	{
		name:  "the sandbox is killed while a batch is at the bus",
		how:   "SIGKILL once the bus has accepted 20 events, and holds the answers",
		kills: true,
		twice: 20, // what was accepted was not yet recorded
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			relay := f.start(t, nil)
			killed := f.whileAtTheBus(t, relay, func() { require.NoError(t, relay.Kill()) })
			f.Bus.Clear()
			f.ends()
			killed()
			relay.deliver(t)
		},
	},
	{
		name:  "the sandbox is killed before a batch's commit arrives",
		how:   "SIGKILL before COMMIT passes; the bus has accepted 20 events",
		kills: true,
		twice: 20, // what was accepted was not yet recorded
		play:  func(t *testing.T, f *trial) { f.killedAt(t, requests, says(committing)) },
	},
	{
		name:  "the sandbox is killed after a batch's commit, before it answers",
		how:   "SIGKILL before the answer to COMMIT passes; the bus has accepted 20 events",
		kills: true,
		play: func(t *testing.T, f *trial) {
			f.killedAt(t, replies, says(committing))
			require.Len(t, f.responses, 1, "something was left to do")
		},
	},
	{
		name:  "the sandbox is killed again and again with the same rows in hand",
		how:   "SIGKILL once the bus has read a request that it does not take, 5 times; 100 events",
		kills: true,
		upTo:  100, // what was on its way at a kill may arrive once the bus is well
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 100)
			relay := f.start(t, nil)
			for range 5 {
				f.Bus.Always(eventbridgetest.Hang())
				require.True(t, relay.killAfter(t, 1, 0))
				f.Bus.Clear()
				require.Equal(t, 100, f.Untouched(t))
			}
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name:  "the sandbox is killed at any moment",
		how:   "SIGKILL at 40 random moments; 80 events for each, 2 workers with batches of 20, answers of the bus take 20 to 80 ms",
		kills: true,
		upTo:  40 * 2 * 20, // what the workers had in hand at each kill
		play:  func(t *testing.T, f *trial) { f.killedAtAnyMoment(t, 40, 80) },
	},
	{
		name:  "one of two relays that are at work is killed",
		how:   "SIGKILL of one of two sandboxes once the bus has accepted 100 events of 500; a worker and batches of 20 each, answers take 100 ms",
		kills: true,
		upTo:  20, // what the worker had in hand
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 500)
			f.Bus.Always(eventbridgetest.Latency(slow / 10))
			small := relaytest.Settings{"RELAY_WORKERS": "1", "RELAY_BATCH_SIZE": "20"}
			killed, other := f.start(t, small), f.start(t, small)
			runs := []*relaytest.Invocation{killed.Begin(t), other.Begin(t)}
			require.NoError(t, f.Bus.WaitAccepted(t.Context(), 100))
			require.NoError(t, killed.Kill())
			f.ends()
			require.True(t, killed.wait(t, runs[0]).Crashed)
			require.Empty(t, other.wait(t, runs[1]).ErrorMessage)
			other.deliver(t)
		},
	},
}

// killedAt kills the sandbox when its connection to the database comes to a place.
// What was on the way then is lost.
func (f *trial) killedAt(t *testing.T, stream string, place place) {
	t.Helper()
	f.Insert(t, 20)
	gate := f.database.gate(t, stream, place)
	relay := f.start(t, nil)
	run := relay.Begin(t)
	gate.wait(t)
	require.NoError(t, relay.Kill())
	gate.cut()
	f.ends()
	require.True(t, relay.wait(t, run).Crashed)
	f.RequireNoLocks(t)
	relay.deliver(t)
}

func (f *trial) killedAtAnyMoment(t *testing.T, kills, rows int) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed: %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f.Bus.Always(eventbridgetest.LatencyBetween(seed, 20*time.Millisecond, 80*time.Millisecond))
	relay := f.start(t, relaytest.Settings{"RELAY_BATCH_SIZE": "20", "RELAY_WORKERS": "2"})
	hits := 0
	for range kills {
		f.Insert(t, rows)
		if relay.killAfter(t, 1+random.IntN(4), time.Duration(random.IntN(80))*time.Millisecond) {
			hits++
		}
		f.RequireNoFalseMark(t)
	}
	require.Greater(t, hits, kills/2, "too few kills were in the middle of a run")
	f.ends()
	relay.deliver(t)
	require.Len(t, f.Bus.AcceptedIDs(), rows*kills)
	for id, times := range f.Bus.AcceptedIDs() {
		require.LessOrEqual(t, times, kills, "event %s", id)
	}
}

// killAfter invokes the function and kills it when the bus has read so many more
// requests and the pause is over. It reports whether that was in the middle of a
// run.
func (s sandbox) killAfter(t *testing.T, requests int, pause time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wanted := s.trial.Bus.Stats().Requests + requests
	run := s.Begin(t)
	go func() {
		<-run.Ended
		cancel()
	}()
	publishing := s.trial.Bus.WaitRequests(ctx, wanted) == nil
	if publishing {
		<-time.After(pause) // a moment that nothing announces
	}
	if err := s.Kill(); !errors.Is(err, lambdatest.ErrNotRunning) {
		require.NoError(t, err)
	}
	return s.wait(t, run).Crashed && publishing
}

// limitFaults are runs that the function's time limit ends.
var limitFaults = []fault{
	{
		name:  "the function's time limit ends the sandbox while a batch is at the bus",
		how:   "SIGSTOP once the bus has accepted 20 events, until the limit of 4 seconds is over",
		kills: true,
		twice: 20, // what was accepted was not yet recorded
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			relay := f.startWithin(t, 4*time.Second, brief)
			stopped := f.whileAtTheBus(t, relay, func() { require.NoError(t, relay.Stop()) })
			stopped()
			require.True(t, f.responses[0].TimedOut)
			f.Bus.Clear()
			f.ends()
			relay.deliver(t)
		},
	},
}
