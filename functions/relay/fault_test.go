package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

// The bus accepts the first requests and closes the connection without an
// answer.
func TestSendsTheSameEventAgainWhenTheAnswerIsLost(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 30)
	s.bus.Script(eventbridgetest.Repeat(3, eventbridgetest.AcceptThenDrop())...)
	relay := s.start(t, nil)

	relay.drain(t, s)
	s.requireDelivered(t)
	copies := s.bus.AcceptedByID()
	require.Len(t, copies, 30)
	duplicates := 0
	for _, accepted := range copies {
		for _, again := range accepted[1:] {
			duplicates++
			require.Equal(t, accepted[0].ID, again.ID)
			require.Equal(t, accepted[0].Detail, again.Detail)
			require.Equal(t, accepted[0].Source, again.Source)
			require.Equal(t, accepted[0].DetailType, again.DetailType)
			require.Equal(t, accepted[0].Time, again.Time)
		}
	}
	require.NotZero(t, duplicates, "the test has lost no answer")
}

// Whatever goes wrong goes wrong all the time: a run must not turn it into a
// storm of requests.
func TestTriesAnEventOnlyAFewTimesARun(t *testing.T) {
	t.Parallel()

	for name, fault := range map[string]eventbridgetest.Fault{
		"EntryByEntry":  eventbridgetest.FailEntries("InternalFailure", "try again"),
		"WithAnError":   eventbridgetest.InternalException(),
		"WithoutAnswer": eventbridgetest.Drop(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newScene(t)
			s.insert(t, 20)
			s.bus.Always(fault)
			relay := s.start(t, nil)

			response := relay.invoke(t)
			require.False(t, response.TimedOut || response.Crashed, response.ErrorMessage)
			s.requireFewTries(t, 5)
			require.Equal(t, 20, s.pending(t))
			if name == "EntryByEntry" {
				require.Empty(t, response.ErrorMessage)
				return
			}
			require.Equal(t, "RelayError", response.ErrorType, string(response.Payload))
			require.Equal(t, 20, s.untouched(t), "an outage costs no event an attempt")

			s.bus.Clear()
			require.Equal(t, 20, relay.succeed(t).Published)
			s.requireOnce(t)
		})
	}
}

// 3,000 events are 300 requests, of which the bus takes 20 a second: the rest it
// throttles, by turns as a whole and entry by entry. (Scaled down from 50,000
// events and five runs of a minute.)
func TestGoesAsFastAsTheBusAllows(t *testing.T) {
	t.Parallel()

	const perSecond = 20
	s := newScene(t)
	s.insert(t, 3_000)
	s.bus.Always(eventbridgetest.RateLimit(perSecond, nil))
	relay := s.startWithin(t, 9*time.Second, settings{"RELAY_RESERVE": "1s", "PUT_EVENTS_TIMEOUT": "3s"})

	published := 0
	for range 2 {
		answer := relay.succeed(t)
		require.NotZero(t, answer.Published)
		require.Zero(t, answer.Failed)
		published += answer.Published
	}
	require.Equal(t, published, s.published(t))
	s.requireNoFalseMark(t)
	s.requireOnce(t)
	throttled := 0
	for _, request := range s.bus.Requests() {
		if request.Accepted == 0 {
			throttled++
		}
	}
	require.NotZero(t, throttled)
	require.Less(t, throttled, s.bus.Stats().Requests/2, "it does not slow down")
}

// The bus reads requests and does not answer, or stops in the middle of the
// answer.
func TestEndsInTimeWithAnErrorWhenTheBusHangs(t *testing.T) {
	t.Parallel()

	for name, fault := range map[string]eventbridgetest.Fault{
		"BeforeTheHeaders":   eventbridgetest.Hang(),
		"InTheMiddleOfABody": eventbridgetest.Both(eventbridgetest.HangMidBody(), eventbridgetest.WithoutAccepting()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newScene(t)
			s.insert(t, 20)
			s.bus.Always(fault)
			relay := s.start(t, nil)

			message := relay.fail(t)
			require.Contains(t, message, "EventBridge")
			s.requireNoLocks(t)
			require.Equal(t, 20, s.untouched(t))

			s.bus.Clear()
			require.Equal(t, 20, relay.succeed(t).Published)
			s.requireDelivered(t)
			relay.Lines(t) // all of them are JSON, also what the SDK says of broken connections
		})
	}
}

// Both time limits of a scheduled function: 15 seconds are too few for all of
// a run's attempts, 30 may be enough.
func TestFailsWhenTheBusIsDown(t *testing.T) {
	t.Parallel()

	for _, limit := range []time.Duration{15 * time.Second, 30 * time.Second} {
		t.Run(limit.String(), func(t *testing.T) {
			t.Parallel()

			s := newScene(t)
			s.insert(t, 20)
			address := nobody(t)
			relay := s.startWithin(t, limit, settings{"AWS_ENDPOINT_URL_EVENTBRIDGE": "http://" + address})

			message := relay.fail(t)
			require.Contains(t, message, "EventBridge at "+address)
			require.Contains(t, message, "bus default")
			require.Equal(t, 20, s.untouched(t))
		})
	}
}

func TestFailsWhenTheDatabaseIsDown(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	address := nobody(t)
	relay := s.start(t, settings{"DATABASE_URL": "postgres://relay:secret@" + address + "/shop?sslmode=disable"})

	message := relay.fail(t)
	require.Contains(t, message, "connect to postgres at "+address+"/shop as relay")
	require.Contains(t, message, "check the port, and that the database runs")
	require.NotContains(t, message, "secret")
}

// A subnet without a route to a service swallows every packet.
func TestNamesTheServiceThatCannotBeReached(t *testing.T) {
	t.Parallel()

	const limit = 15 * time.Second

	t.Run("EventBridge", func(t *testing.T) {
		t.Parallel()

		s := newScene(t)
		s.insert(t, 20)
		address := blackhole(t)
		relay := s.startWithin(t, limit, settings{"AWS_ENDPOINT_URL_EVENTBRIDGE": "http://" + address})

		message := relay.fail(t)
		require.Contains(t, message, "EventBridge at "+address)
		require.Contains(t, message, "interface endpoint for events")
		s.requireNoLocks(t)
		require.Equal(t, 20, s.untouched(t))
	})

	t.Run("SecretsManager", func(t *testing.T) {
		t.Parallel()

		s := newScene(t)
		relay := s.startWithin(t, limit, settings{
			"DATABASE_URL":                     unset,
			"DATABASE_SECRET_ARN":              secretARN,
			"AWS_ENDPOINT_URL_SECRETS_MANAGER": "http://" + blackhole(t),
		})

		message := relay.fail(t)
		require.Contains(t, message, "AWS Secrets Manager")
		require.Contains(t, message, "interface endpoint for secretsmanager")
	})

	t.Run("Database", func(t *testing.T) {
		t.Parallel()

		s := newScene(t)
		address := blackhole(t)
		relay := s.startWithin(t, limit, settings{"DATABASE_URL": "postgres://relay@" + address + "/shop?sslmode=disable"})

		message := relay.fail(t)
		require.Contains(t, message, "connect to postgres at "+address)
		require.Contains(t, message, "security group")
	})
}

// A reply that was held up on its way sets the SDK's signing clock back by ten
// minutes; what is signed then is refused until a reply with the right date.
func TestRecoversFromAClockThatAStaleReplyHasSetBack(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 30)
	s.bus.Script(eventbridgetest.StaleDate(10 * time.Minute))
	relay := s.start(t, settings{"RELAY_CONCURRENCY": "1"})

	relay.drain(t, s)
	s.requireDelivered(t)
	s.requireOnce(t)
}

// The sessions of a warm sandbox end between two invocations, as in a failover.
func TestPublishesAfterTheDatabaseEndedAllSessions(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	relay := s.start(t, nil)
	for range 3 {
		s.insert(t, 10)
		require.Equal(t, 10, relay.succeed(t).Published)
		s.db.TerminateSessions(t)
	}
	s.requireDelivered(t)
	s.requireOnce(t)
}
