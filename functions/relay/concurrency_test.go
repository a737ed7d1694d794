package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

// Four functions at once, as when runs overlap or Lambda repeats one. (Scaled
// down from 10,000 events.)
func TestPublishesEachEventOnceWhenRunsOverlap(t *testing.T) {
	t.Parallel()

	const rows = 4_000
	seed := rand.Uint64()
	t.Logf("seed: %d", seed)
	s := newScene(t)
	s.insert(t, rows)
	s.bus.Always(eventbridgetest.LatencyBetween(seed, 50*time.Millisecond, 500*time.Millisecond))

	var relays [4]relay
	for i := range relays {
		relays[i] = s.start(t, nil)
	}
	var runs [len(relays)]*invocation
	for i, relay := range relays {
		runs[i] = relay.begin(t)
	}

	published := 0
	for _, run := range runs {
		published += successful(t, run.wait(t)).Published
	}
	require.Equal(t, rows, published)
	s.requireDelivered(t)
	require.Len(t, s.bus.AcceptedIDs(), rows)
	s.requireOnce(t)
}

// A row that an application holds is passed over, and published when it is free.
func TestPassesOverARowThatSomebodyHolds(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 20)
	holder := s.db.Conn(t)
	_, err := holder.Exec(t.Context(), "BEGIN; SELECT FROM outbox WHERE seq = 5 FOR UPDATE")
	require.NoError(t, err)
	relay := s.start(t, nil)

	require.Equal(t, 19, relay.succeed(t).Published)
	_, err = holder.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.Equal(t, 1, relay.succeed(t).Published)
	s.requireDelivered(t)
	s.requireOnce(t)
}

// An event of a transaction that rolls back is never seen, one that commits late
// is.
func TestPublishesWhatIsCommittedAndNothingElse(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	insert := "INSERT INTO outbox (event_type, payload) VALUES ('Late', '{}')"
	late, never := s.db.Conn(t), s.db.Conn(t)
	_, err := late.Exec(t.Context(), "BEGIN; "+insert)
	require.NoError(t, err)
	_, err = never.Exec(t.Context(), "BEGIN; "+insert)
	require.NoError(t, err)
	s.insert(t, 10)
	relay := s.start(t, nil)

	require.Equal(t, 10, relay.succeed(t).Published)
	_, err = late.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	_, err = never.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.Equal(t, 1, relay.succeed(t).Published)
	require.Zero(t, relay.succeed(t).Published)
	require.Len(t, s.bus.AcceptedIDs(), 11)
	s.requireDelivered(t)
}

// A run that polls publishes what is written while it runs.
func TestPublishesWhatIsWrittenWhileItPolls(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	relay := s.startWithin(t, 8*time.Second, settings{
		"RELAY_POLL_INTERVAL": "50ms", "RELAY_RESERVE": "1s", "PUT_EVENTS_TIMEOUT": "1s",
	})
	run := relay.begin(t)
	for n := 1; n <= 3; n++ {
		s.insert(t, 10)
		require.NoError(t, s.bus.WaitAccepted(t.Context(), 10*n))
	}

	answer := successful(t, run.wait(t))
	require.Equal(t, 30, answer.Published)
	require.Equal(t, "budget", string(answer.Stopped))
	s.requireDelivered(t)
	s.requireOnce(t)
}

// The scheduler starts the next run before the last one has to end, so that one
// is always at work.
func TestARunThatPollsMakesWayForTheNext(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	poll := settings{"RELAY_POLL_INTERVAL": "50ms", "RELAY_RESERVE": "1s", "PUT_EVENTS_TIMEOUT": "1s"}
	older := s.startWithin(t, 90*time.Second, poll)
	first := older.begin(t)
	s.insert(t, 10)
	require.NoError(t, s.bus.WaitAccepted(t.Context(), 10))
	newer := s.startWithin(t, 8*time.Second, poll)
	second := newer.begin(t)

	answer := successful(t, first.wait(t))
	require.Equal(t, 10, answer.Published)
	require.Equal(t, "drained", string(answer.Stopped), "its time was not used up")
	require.Equal(t, true, older.summary(t)["handed_over"])
	s.insert(t, 10)
	answer = successful(t, second.wait(t))
	require.Equal(t, 10, answer.Published)
	require.Equal(t, "budget", string(answer.Stopped))
	require.NotContains(t, newer.summary(t), "handed_over")
	s.requireDelivered(t)
	s.requireOnce(t)
}

// Tables of the version before have no numbers that runs could take.
func TestARunThatPollsSaysToMigrate(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.db.Exec(t, "DROP SEQUENCE outbox_turn; DELETE FROM outbox_schema WHERE version > 2")
	s.insert(t, 3)

	require.Contains(t, s.start(t, settings{"RELAY_POLL_INTERVAL": "1s"}).fail(t), "invoke migrate")
	require.Equal(t, 3, s.untouched(t))
	require.Equal(t, 3, s.start(t, nil).succeed(t).Published)
}
