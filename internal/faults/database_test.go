package faults

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/postgrestest"
)

var databaseFaults = []fault{
	{
		name: "the server ends the session of a batch that is at the bus",
		how:  "pg_terminate_backend once the bus has accepted 20 events",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			f.Bus.Always(eventbridgetest.Latency(slow))
			relay := f.start(t, nil)
			run := relay.Begin(t)
			require.NoError(t, f.Bus.WaitAccepted(t.Context(), 20))
			require.NotZero(t, f.DB.TerminateSessions(t))
			f.ends()
			relay.wait(t, run)
			relay.deliver(t)
		},
	},
	{
		name: "the database crashes and restarts while batches are at the bus",
		how:  "immediate shutdown and start of the server, 200 events, answers of the bus take a second",
		play: func(t *testing.T, f *trial) {
			server := f.alone(t, postgrestest.Options{})
			f.Insert(t, 200)
			f.Bus.Always(eventbridgetest.Latency(slow))
			relay := f.start(t, nil)
			run := relay.Begin(t)
			require.NoError(t, f.Bus.WaitAccepted(t.Context(), 20))
			require.NoError(t, server.Restart(t.Context(), true))
			f.ends()
			relay.wait(t, run)
			relay.deliver(t)
		},
	},
	{
		name:    "nothing answers at the database's port",
		how:     "the proxy is down for a whole run",
		reports: "check the port, and that the database runs",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			relay := f.start(t, nil)
			f.database.down()
			relay.run(t)
			f.database.up(t)
			f.ends()
			relay.deliver(t)
		},
	},
}
