package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/relaytest"
)

// sessionFaults are sessions that the server ends, and limits under which it does.
var sessionFaults = []fault{
	{
		name: "the server ends the session of a run that polls",
		how:  "pg_terminate_backend once the run has polled; 20 events are written after that",
		play: func(t *testing.T, f *trial) {
			relay := f.startWithin(t, 7*time.Second, polls)
			run := relay.Begin(t)
			f.await(t, idle)
			require.NotZero(t, f.DB.TerminateSessions(t))
			f.ends()
			f.Insert(t, 20)
			f.delivers(t)
			relay.wait(t, run)
		},
	},
	{
		name: "the server ends a session in the middle of a claim",
		how:  "pg_terminate_backend while the claim waits for a lock on the table",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			unlock := f.locks(t)
			relay := f.start(t, nil)
			run := relay.Begin(t)
			f.await(t, blocked)
			f.terminates(t)
			f.ends()
			unlock()
			relay.wait(t, run)
			relay.deliver(t)
		},
	},
	{
		name: "the server ends the session of a batch that is at the bus",
		how:  "pg_terminate_backend once the bus has accepted 20 events",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			relay := f.start(t, nil)
			wait := f.whileAtTheBus(t, relay, func() { f.terminates(t) })
			f.ends()
			wait()
			relay.deliver(t)
		},
	},
	{
		name: "the server ends a session while a batch is being recorded",
		how:  "pg_terminate_backend while a trigger makes the statement wait that marks 20 accepted events",
		play: func(t *testing.T, f *trial) {
			f.DB.Exec(t, `
				CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NEW; END $$;
				CREATE TRIGGER wait BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION wait()`)
			f.Insert(t, 20)
			holder := f.DB.Conn(t)
			_, err := holder.Exec(t.Context(), "SELECT pg_advisory_lock(1)")
			require.NoError(t, err)
			relay := f.start(t, nil)
			run := relay.Begin(t)
			f.await(t, blocked)
			f.terminates(t)
			f.ends()
			require.NoError(t, holder.Close(t.Context()))
			relay.wait(t, run)
			relay.deliver(t)
		},
	},
	{
		name: "the server ends all sessions between two invocations of a sandbox",
		how:  "pg_terminate_backend of whatever is there after each of 3 runs",
		play: func(t *testing.T, f *trial) {
			relay := f.start(t, nil)
			for range 3 {
				f.Insert(t, 20)
				relay.run(t)
				require.Zero(t, f.Pending(t))
				f.DB.TerminateSessions(t)
			}
			f.Insert(t, 20)
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name: "the role's own limits are shorter than the bus takes",
		how:  "idle_in_transaction_session_timeout, idle_session_timeout and statement_timeout of 200 ms by ALTER ROLE; answers of the bus take a second",
		play: func(t *testing.T, f *trial) {
			for _, limit := range []string{"idle_in_transaction_session_timeout", "idle_session_timeout", "statement_timeout"} {
				f.DB.Exec(t, "ALTER ROLE "+f.Login.Name+" SET "+limit+" = '200ms'")
			}
			f.Insert(t, 20)
			f.Bus.Always(eventbridgetest.Latency(slow))
			relay := f.start(t, nil)
			f.ends()
			relay.deliver(t)
			require.NotContains(t, strings.Join(relay.Logs(), ""), "settling failed")
		},
	},
	{
		name: "the role's own limit ends the sessions of a run that polls",
		how:  "idle_session_timeout of 100 ms by ALTER ROLE, and polls 500 ms apart; 20 events are written after 3 sessions, and the limit is lifted then",
		play: func(t *testing.T, f *trial) {
			f.DB.Exec(t, "ALTER ROLE "+f.Login.Name+" SET idle_session_timeout = '100ms'")
			relay := f.startWithin(t, 9*time.Second, relaytest.Settings{
				"RELAY_POLL_INTERVAL": "500ms", "RELAY_RESERVE": "1s", "PUT_EVENTS_TIMEOUT": "1s",
			})
			run := relay.Begin(t)
			for range 3 {
				f.await(t, idle)
				f.await(t, "NOT EXISTS (SELECT FROM own)")
			}
			f.Insert(t, 20)
			// A session that ended at the last poll would be a failed run.
			f.DB.Exec(t, "ALTER ROLE "+f.Login.Name+" RESET idle_session_timeout")
			f.ends()
			f.delivers(t)
			relay.wait(t, run)
		},
	},
}

// terminates ends the login's sessions, and no others.
func (f *trial) terminates(t *testing.T) {
	t.Helper()
	require.NotZero(t, f.DB.QueryInt(t,
		"SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE usename = $1", f.Login.Name))
}
