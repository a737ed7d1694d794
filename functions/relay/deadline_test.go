package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

// The bus takes 3 seconds for each answer, the function has 20, and there is
// more to do than it can do. (Two runs instead of five.)
func TestEndsBeforeTheDeadlineWithItsWorkRecorded(t *testing.T) {
	t.Parallel()

	const limit = 20 * time.Second
	s := newScene(t, eventbridgetest.WithLatency(3*time.Second))
	s.insert(t, 10_000)
	relay := s.startWithin(t, limit, settings{"RELAY_RESERVE": "1s"})

	published := 0
	for range 2 {
		began := time.Now()
		answer := relay.succeed(t)
		require.Less(t, time.Since(began), limit-500*time.Millisecond)
		require.Equal(t, "budget", string(answer.Stopped))
		require.NotZero(t, answer.Published)
		published += answer.Published
	}
	require.Equal(t, published, s.published(t))
	require.Len(t, s.bus.AcceptedIDs(), published, "something was accepted and not recorded")
	s.requireNoFalseMark(t)
	s.requireOnce(t)
}

// The bus answers later than the database lets a transaction be idle, by the
// role's setting. (0.2 and 1 seconds instead of 2 and 5: what counts is which
// limit comes first.)
func TestRecordsASlowBatchWhateverTheRolesIdleLimitIs(t *testing.T) {
	t.Parallel()

	s := newScene(t, eventbridgetest.WithLatency(time.Second))
	s.db.Exec(t, "ALTER ROLE "+s.login.Name+" SET idle_in_transaction_session_timeout = '200ms'")
	s.db.Exec(t, "ALTER ROLE "+s.login.Name+" SET statement_timeout = '200ms'")
	s.insert(t, 20)

	require.Equal(t, 20, s.start(t, nil).succeed(t).Published)
	s.requireDelivered(t)
	s.requireOnce(t)
}

// The session is ended while the batch is being published, as by a limit that
// came first or by a failover: its outcomes are recorded on another session.
func TestRecordsABatchWhoseSessionWasEnded(t *testing.T) {
	t.Parallel()

	s := newScene(t, eventbridgetest.WithLatency(time.Second))
	s.insert(t, 20)
	relay := s.start(t, nil)
	run := relay.begin(t)
	require.NoError(t, s.bus.WaitAccepted(t.Context(), 20))
	require.NotZero(t, s.db.TerminateSessions(t))

	require.Equal(t, 20, successful(t, run.wait(t)).Published)
	s.requireDelivered(t)
	s.requireOnce(t)
}

// The network to the database fails at the moment of recording, and does not
// recover before the deadline: whether the commit took place is unknown.
func TestEndsBeforeTheDeadlineWhenTheOutcomeCannotBeRecorded(t *testing.T) {
	t.Parallel()

	for name, choose := range map[string]func(*proxy) *valve{
		"TheCommitIsLost": func(p *proxy) *valve { return p.requests },
		"ItsAnswerIsLost": func(p *proxy) *valve { return p.replies },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newScene(t)
			s.insert(t, 10)
			address, proxy := s.through(t)
			valve := choose(proxy)
			s.bus.OnAccepted(func(eventbridgetest.Accepted) { valve.closeAfter(0) })
			relay := s.startWithin(t, 8*time.Second, settings{
				"DATABASE_URL": address, "PUT_EVENTS_TIMEOUT": "1s", "RELAY_RESERVE": "1s",
			})

			message := relay.fail(t)
			require.Contains(t, message, "10 accepted events could not all be recorded")
			require.Contains(t, message, "deadline")
			s.requireNoFalseMark(t)

			s.bus.OnAccepted(func(eventbridgetest.Accepted) {})
			valve.open()
			s.requireNoLocks(t)
			relay.succeed(t)
			s.requireDelivered(t)
			if name == "ItsAnswerIsLost" {
				s.requireOnce(t)
			}
		})
	}
}
