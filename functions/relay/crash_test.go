package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/lambdatest"
	"outboxrelay/internal/postgrestest"
)

// killAfter invokes the function and kills it when the bus has got so many more
// requests and the pause is over. It reports whether that was in the middle of
// a run.
func (r relay) killAfter(t *testing.T, s *scene, requests int, pause time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wanted := s.bus.Stats().Requests + requests
	run := r.begin(t)
	go func() {
		<-run.ended
		cancel()
	}()
	publishing := s.bus.WaitRequests(ctx, wanted) == nil
	if publishing {
		<-time.After(pause) // a moment that nothing announces
	}
	if err := r.Kill(); !errors.Is(err, lambdatest.ErrNotRunning) {
		require.NoError(t, err)
	}
	return run.wait(t).Crashed && publishing
}

// Killed at 40 random moments, while the bus takes 20 to 80 ms to answer.
// (Scaled down from 200; `go test -run Killed -count 5` makes up for it.)
func TestLosesNothingWhenItIsKilledAtAnyMoment(t *testing.T) {
	t.Parallel()

	const kills, rows = 40, 80
	seed := rand.Uint64()
	t.Logf("seed: %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := newScene(t)
	s.bus.Always(eventbridgetest.LatencyBetween(seed, 20*time.Millisecond, 80*time.Millisecond))
	relay := s.start(t, settings{"RELAY_BATCH_SIZE": "20"})

	hits := 0
	for range kills {
		s.insert(t, rows)
		if relay.killAfter(t, s, 1+random.IntN(4), time.Duration(random.IntN(80))*time.Millisecond) {
			hits++
		}
		s.requireNoFalseMark(t)
	}
	t.Logf("%d kills of %d in the middle of a run, %+v", hits, kills, s.bus.Stats())
	require.Greater(t, hits, kills/2)

	relay.drain(t, s)
	s.requireDelivered(t)
	require.Len(t, s.bus.AcceptedIDs(), rows*kills)
	for id, times := range s.bus.AcceptedIDs() {
		require.LessOrEqual(t, times, kills, "event %s", id)
	}
}

// Killed while a batch is at the bus: nobody has to repair anything.
func TestPublishesInTheNextRunsWhatAKilledOneHadClaimed(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 100)
	relay := s.start(t, nil)
	for range 5 { // instead of 20
		s.bus.Always(eventbridgetest.Hang())
		require.True(t, relay.killAfter(t, s, 1, 0))
		s.bus.Clear()
		require.Zero(t, s.published(t))
	}

	relay.drain(t, s)
	s.requireDelivered(t)
	s.requireOnce(t)
}

// A sandbox that is frozen in the middle of receiving a claim leaves its backend
// in a write to a full socket. Neither the statement's limit nor the idle one
// ends that. (The proxy only holds the reply up until the function has stopped:
// for the server, the function stands still from then on. The rows are wide,
// because a statement that is cancelled ends after a row, for which the socket
// may just have room. The server is the test's own, because a backend in that
// state makes every DROP DATABASE wait.)
func TestGivesRowsBackWhenItIsFrozenInTheMiddleOfAClaim(t *testing.T) {
	t.Parallel()

	const rows = 8
	server := postgrestest.NewServer(t, postgrestest.Options{})
	s := newSceneOn(t, server, eventbridgetest.WithRecording(eventbridgetest.RecordIDs))
	s.insertLarge(t, rows, 900_000)
	s.db.Exec(t, "UPDATE outbox SET headers = payload")
	address, proxy := s.through(t)
	proxy.replies.closeAfter(2 << 20)
	frozen := s.startWithin(t, 3*time.Minute, settings{
		"DATABASE_URL": address, "RELAY_BATCH_BYTES": "100000000", "EVENT_ENVELOPE": "raw",
	})
	other := s.startWithin(t, time.Minute, settings{"RELAY_POLL_INTERVAL": "500ms", "EVENT_ENVELOPE": "raw"})
	run := frozen.begin(t)
	<-proxy.replies.stalled
	require.NoError(t, frozen.Stop())
	promised := within(t, 30*time.Second)
	other.begin(t)
	require.NoError(t, s.bus.WaitAccepted(promised, rows), "the rows are still locked")

	proxy.replies.open()
	require.NoError(t, frozen.Cont())
	require.Zero(t, successful(t, run.wait(t)).Published)
	s.requireNoLocks(t)
	s.requireDelivered(t)
	s.requireOnce(t)
}
