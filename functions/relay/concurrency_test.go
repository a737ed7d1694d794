package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/relaytest"
)

// Four functions at once, as when runs overlap or Lambda repeats one. (Scaled
// down from 10,000 events.)
func TestPublishesEachEventOnceWhenRunsOverlap(t *testing.T) {
	t.Parallel()

	const rows = 4_000
	seed := rand.Uint64()
	t.Logf("seed: %d", seed)
	s := relaytest.New(t)
	s.Insert(t, rows)
	s.Bus.Always(eventbridgetest.LatencyBetween(seed, 50*time.Millisecond, 500*time.Millisecond))

	var relays [4]relaytest.Relay
	for i := range relays {
		relays[i] = s.Start(t, nil)
	}
	var runs [len(relays)]*relaytest.Invocation
	for i, relay := range relays {
		runs[i] = relay.Begin(t)
	}

	published := 0
	for _, run := range runs {
		published += relaytest.Successful(t, run.Wait(t)).Published
	}
	require.Equal(t, rows, published)
	s.RequireDelivered(t)
	require.Len(t, s.Bus.AcceptedIDs(), rows)
	s.RequireOnce(t)
}

// A row that an application holds is passed over, and published when it is free.
func TestPassesOverARowThatSomebodyHolds(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 20)
	holder := s.DB.Conn(t)
	_, err := holder.Exec(t.Context(), "BEGIN; SELECT FROM outbox WHERE seq = 5 FOR UPDATE")
	require.NoError(t, err)
	relay := s.Start(t, nil)

	require.Equal(t, 19, relay.Succeed(t).Published)
	_, err = holder.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.Equal(t, 1, relay.Succeed(t).Published)
	s.RequireDelivered(t)
	s.RequireOnce(t)
}

// An event of a transaction that rolls back is never seen, one that commits late
// is.
func TestPublishesWhatIsCommittedAndNothingElse(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	insert := "INSERT INTO outbox (event_type, payload) VALUES ('Late', '{}')"
	late, never := s.DB.Conn(t), s.DB.Conn(t)
	_, err := late.Exec(t.Context(), "BEGIN; "+insert)
	require.NoError(t, err)
	_, err = never.Exec(t.Context(), "BEGIN; "+insert)
	require.NoError(t, err)
	s.Insert(t, 10)
	relay := s.Start(t, nil)

	require.Equal(t, 10, relay.Succeed(t).Published)
	_, err = late.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	_, err = never.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.Equal(t, 1, relay.Succeed(t).Published)
	require.Zero(t, relay.Succeed(t).Published)
	require.Len(t, s.Bus.AcceptedIDs(), 11)
	s.RequireDelivered(t)
}

// A run that polls publishes what is written while it runs.
func TestPublishesWhatIsWrittenWhileItPolls(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	relay := s.StartWithin(t, 8*time.Second, relaytest.Settings{
		"RELAY_POLL_INTERVAL": "50ms", "RELAY_RESERVE": "1s", "PUT_EVENTS_TIMEOUT": "1s",
	})
	run := relay.Begin(t)
	for n := 1; n <= 3; n++ {
		s.Insert(t, 10)
		require.NoError(t, s.Bus.WaitAccepted(t.Context(), 10*n))
	}

	answer := relaytest.Successful(t, run.Wait(t))
	require.Equal(t, 30, answer.Published)
	require.Equal(t, "budget", answer.Stopped)
	s.RequireDelivered(t)
	s.RequireOnce(t)
}

// The scheduler starts the next run before the last one has to end, so that one
// is always at work.
func TestARunThatPollsMakesWayForTheNext(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	poll := relaytest.Settings{"RELAY_POLL_INTERVAL": "50ms", "RELAY_RESERVE": "1s", "PUT_EVENTS_TIMEOUT": "1s"}
	older := s.StartWithin(t, 90*time.Second, poll)
	first := older.Begin(t)
	s.Insert(t, 10)
	require.NoError(t, s.Bus.WaitAccepted(t.Context(), 10))
	newer := s.StartWithin(t, 8*time.Second, poll)
	second := newer.Begin(t)

	answer := relaytest.Successful(t, first.Wait(t))
	require.Equal(t, 10, answer.Published)
	require.Equal(t, "drained", answer.Stopped, "its time was not used up")
	require.Equal(t, true, older.Summary(t)["handed_over"])
	s.Insert(t, 10)
	answer = relaytest.Successful(t, second.Wait(t))
	require.Equal(t, 10, answer.Published)
	require.Equal(t, "budget", answer.Stopped)
	require.NotContains(t, newer.Summary(t), "handed_over")
	s.RequireDelivered(t)
	s.RequireOnce(t)
}

// Tables of the version before have no numbers that runs could take.
func TestARunThatPollsSaysToMigrate(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.DB.Exec(t, "DROP SEQUENCE outbox_turn; DELETE FROM outbox_schema WHERE version > 2")
	s.Insert(t, 3)

	require.Contains(t, s.Start(t, relaytest.Settings{"RELAY_POLL_INTERVAL": "1s"}).Fail(t), "invoke migrate")
	require.Equal(t, 3, s.Untouched(t))
	require.Equal(t, 3, s.Start(t, nil).Succeed(t).Published)
}
