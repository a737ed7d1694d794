package faults

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/lambdatest"
)

// schemaFaults are changes of the tables under a relay that is warm: plans that
// the server keeps for a session would not fit any more.
var schemaFaults = []fault{
	{
		name: "columns are added, dropped and changed between two invocations of a sandbox",
		how:  "ALTER TABLE after each of 3 runs: a column added; the type of event_type changed to varchar, that of payload to json; the added column dropped",
		play: func(t *testing.T, f *trial) {
			relay := f.start(t, nil)
			for _, change := range []string{
				"ADD COLUMN note text NOT NULL DEFAULT 'none'",
				"ALTER COLUMN event_type TYPE varchar(300), ALTER COLUMN payload TYPE json",
				"DROP COLUMN note",
			} {
				f.Insert(t, 20)
				relay.run(t)
				require.Zero(t, f.Pending(t))
				f.DB.Exec(t, "ALTER TABLE outbox "+change)
			}
			f.ends()
			f.Insert(t, 20)
			relay.deliver(t)
		},
	},
	{
		name: "the type of a column is changed between two batches",
		how:  "ALTER TABLE waits for a batch that is at the bus, and the next claim waits for it; payload becomes json; 200 events",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 200)
			relay := f.start(t, nil)
			altered := make(chan error, 1)
			wait := f.whileAtTheBus(t, relay, func() {
				conn := f.DB.Conn(t)
				go func() {
					_, err := conn.Exec(context.WithoutCancel(t.Context()), "ALTER TABLE outbox ALTER COLUMN payload TYPE json")
					altered <- err
				}()
				f.await(t, "EXISTS (SELECT FROM pg_locks WHERE relation = 'outbox'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted)")
			})
			require.NoError(t, <-altered)
			f.ends()
			wait()
			relay.deliver(t)
		},
	},
	{
		name: "columns are changed while a run polls",
		how:  "ALTER TABLE once the run has polled: event_type becomes varchar, payload json; 20 events are written before and after",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			relay := f.startWithin(t, 8*time.Second, polls)
			run := relay.Begin(t)
			require.NoError(t, f.Bus.WaitAccepted(t.Context(), 20))
			f.await(t, idle)
			f.DB.Exec(t, "ALTER TABLE outbox ALTER COLUMN event_type TYPE varchar(300), ALTER COLUMN payload TYPE json")
			f.ends()
			f.Insert(t, 20)
			f.delivers(t)
			relay.wait(t, run)
		},
	},
	{
		name: "the tables are migrated while a run polls",
		how: "the function migrate brings the tables to the newest version and makes the index that claims use, which is missing; " +
			"answers of the bus take 300 ms, 500 events",
		play: func(t *testing.T, f *trial) {
			f.DB.Exec(t, `
				DROP INDEX outbox_pending;
				DELETE FROM outbox_schema WHERE version > 2`)
			f.Insert(t, 500)
			f.Bus.Always(eventbridgetest.Latency(300 * time.Millisecond))
			relay := f.startWithin(t, 8*time.Second, polls)
			migrate := f.migrates(t)
			run := relay.Begin(t)
			require.NoError(t, f.Bus.WaitAccepted(t.Context(), 20))
			migrate()
			f.ends()
			f.delivers(t)
			relay.wait(t, run)
		},
	},
	{
		name:    "the tables are of the version before until they are migrated",
		how:     "tables without what a run that polls needs, for a run; then the function migrate",
		reports: "invoke migrate",
		play: func(t *testing.T, f *trial) {
			f.DB.Exec(t, "DROP SEQUENCE outbox_turn; DELETE FROM outbox_schema WHERE version > 2")
			f.Insert(t, 20)
			relay := f.startWithin(t, 7*time.Second, polls)
			relay.run(t)
			f.migrates(t)()
			f.ends()
			run := relay.Begin(t)
			f.delivers(t)
			relay.wait(t, run)
		},
	},
}

// migrates starts the function migrate, and returns what invokes it.
func (f *trial) migrates(t *testing.T) (invoke func()) {
	t.Helper()
	bootstrap, err := lambdatest.Build(t.Context(), "migrate")
	require.NoError(t, err)
	function := lambdatest.Start(t, lambdatest.Config{Bootstrap: bootstrap, Env: map[string]string{"DATABASE_URL": f.DB.URL()}})
	return func() {
		t.Helper()
		response, err := function.Invoke(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, response.ErrorMessage)
		require.Contains(t, string(response.Payload), `"applied":["`)
	}
}
