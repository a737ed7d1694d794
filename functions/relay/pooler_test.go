package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/pgbouncertest"
	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/relaytest"
)

// behindPooler puts PgBouncer in transaction mode between a scene's functions
// and its database.
func behindPooler(t *testing.T, s *relaytest.Scene, size int) *pgbouncertest.Pooler {
	t.Helper()
	pooler := pgbouncertest.New(t, s.DB.Server, pgbouncertest.Options{PoolSize: size, Userlist: []postgrestest.Login{s.Login}})
	s.Login.URL = pooler.URL(s.DB.Name, s.Login)
	return pooler
}

// Two connections for the workers of four relays: all but two of those wait.
func TestRelaysShareAPoolersConnections(t *testing.T) {
	t.Parallel()

	const rows = 2000
	for _, poll := range []string{"0s", "100ms"} {
		t.Run(poll, func(t *testing.T) {
			t.Parallel()

			s := relaytest.New(t)
			behindPooler(t, s, 2)
			s.Insert(t, rows)
			runs := make([]*relaytest.Invocation, 4)
			for i := range runs {
				relay := s.StartWithin(t, 15*time.Second, relaytest.Settings{"RELAY_BATCH_SIZE": "50", "RELAY_WORKERS": "2", "RELAY_POLL_INTERVAL": poll})
				runs[i] = relay.Begin(t)
			}
			published := 0
			for _, run := range runs {
				published += relaytest.Successful(t, run.Wait(t)).Published
			}
			require.Equal(t, rows, published)
			s.RequireDelivered(t)
			s.RequireOnce(t)
		})
	}
}

// The other workers wait in the pooler for as long as the first has rows.
func TestOneConnectionOfAPoolerIsEnoughForOneWorker(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	behindPooler(t, s, 1)
	s.Insert(t, 500)
	relay := s.Start(t, relaytest.Settings{"RELAY_BATCH_SIZE": "20", "RELAY_WORKERS": "4"})

	require.Equal(t, 500, relay.Succeed(t).Published)

	s.RequireDelivered(t)
	s.RequireOnce(t)
}

// What is frozen holds its rows in an idle transaction of the server's.
func TestGivesRowsBackBehindAPoolerWhenThereIsFrozen(t *testing.T) {
	t.Parallel()

	for name, freeze := range map[string]func(*testing.T, relaytest.Relay, *pgbouncertest.Pooler) (thaw func()){
		"TheFunction": func(t *testing.T, relay relaytest.Relay, _ *pgbouncertest.Pooler) func() {
			t.Helper()
			require.NoError(t, relay.Stop())
			return func() { require.NoError(t, relay.Cont()) }
		},
		"ThePooler": func(t *testing.T, _ relaytest.Relay, pooler *pgbouncertest.Pooler) func() {
			t.Helper()
			return pooler.Freeze(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			const rows = 20
			s := relaytest.New(t)
			pooler := behindPooler(t, s, 5)
			s.Insert(t, rows)
			relay := s.StartWithin(t, time.Minute, nil)
			s.Bus.Always(eventbridgetest.Hang())
			run := relay.Begin(t)
			require.NoError(t, s.Bus.WaitRequests(t.Context(), 2))
			thaw := freeze(t, relay, pooler)
			require.Zero(t, unlocked(t, s))

			require.Eventually(t, func() bool { return unlocked(t, s) == rows }, 30*time.Second, 250*time.Millisecond)

			s.Bus.Clear()
			thaw()
			run.Wait(t)
			relay.Drain(t, s)
			s.RequireDelivered(t)
		})
	}
}

func unlocked(t *testing.T, s *relaytest.Scene) int {
	t.Helper()
	return s.DB.QueryInt(t, "SELECT count(*) FROM (SELECT FROM outbox FOR UPDATE SKIP LOCKED) AS free")
}

// A login that was rotated is refused by a pooler in words of its own.
func TestSaysThatAPoolerRefuses(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	pooler := behindPooler(t, s, 1)
	wrong := s.Login
	wrong.Password += "x"
	relay := s.Start(t, relaytest.Settings{"DATABASE_URL": pooler.URL(s.DB.Name, wrong)})

	require.Contains(t, relay.Fail(t), "a pooler refuses this: check database, user and password")
}
