package faults

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/postgrestest"
)

// loginFaults are logins that the database refuses, or that lack a right.
var loginFaults = []fault{
	{
		name:    "the password is wrong until somebody corrects it",
		how:     "ALTER ROLE ... PASSWORD, and back after a run",
		reports: "check user and password",
		play: func(t *testing.T, f *trial) {
			f.isWrongUntil(t, "ALTER ROLE "+f.Login.Name+" PASSWORD 'other'", "ALTER ROLE "+f.Login.Name+" PASSWORD '"+f.Login.Password+"'")
		},
	},
	{
		name:    "the login loses its role until somebody grants it again",
		how:     "REVOKE outbox_relay, and GRANT after a run",
		reports: "give the user the role outbox_relay",
		play: func(t *testing.T, f *trial) {
			f.isWrongUntil(t, "REVOKE outbox_relay FROM "+f.Login.Name, "GRANT outbox_relay TO "+f.Login.Name)
		},
	},
	{
		name:    "the login may not connect to the database until somebody grants it",
		how:     "REVOKE CONNECT FROM PUBLIC, and GRANT after a run",
		reports: "grant the user CONNECT on the database",
		play: func(t *testing.T, f *trial) {
			f.isWrongUntil(t, "REVOKE CONNECT ON DATABASE "+f.DB.Name+" FROM PUBLIC", "GRANT CONNECT ON DATABASE "+f.DB.Name+" TO PUBLIC")
		},
	},
	{
		name:    "the role loses a right while a batch is at the bus",
		how:     "REVOKE UPDATE (published_at) while the bus holds 20 accepted events, and GRANT after the run",
		reports: "give the user the role outbox_relay",
		twice:   20, // the database refused to record them
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			relay := f.start(t, nil)
			revoked := f.whileAtTheBus(t, relay, func() { f.DB.Exec(t, "REVOKE UPDATE (published_at) ON outbox FROM outbox_relay") })
			revoked()
			f.DB.Exec(t, "GRANT UPDATE (published_at) ON outbox TO outbox_relay")
			f.Elapse(t)
			f.ends()
			relay.deliver(t)
		},
	},
}

// isWrongUntil breaks something for a run.
func (f *trial) isWrongUntil(t *testing.T, wrong, right string) {
	t.Helper()
	f.Insert(t, 20)
	f.DB.Exec(t, wrong)
	relay := f.start(t, nil)
	relay.run(t)
	f.DB.Exec(t, right)
	f.ends()
	relay.deliver(t)
}

// placeFaults are databases without a place for another session.
var placeFaults = []fault{
	{
		name:    "the server has no place for a session",
		how:     "max_connections taken by others for a whole run",
		reports: "check max_connections, and who holds the connections",
		play: func(t *testing.T, f *trial) {
			f.alone(t, postgrestest.Options{MaxConnections: 6, Settings: map[string]string{"max_wal_senders": "0"}})
			f.Insert(t, 20)
			others := f.fills(t, 0)
			relay := f.start(t, nil)
			relay.run(t)
			for _, other := range others {
				require.NoError(t, other.Close(t.Context()))
			}
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name: "the server has a place for one session only",
		how:  "max_connections taken by others but for one; 1,000 events, which more workers would like to share; answers of the bus take a second",
		play: func(t *testing.T, f *trial) {
			f.alone(t, postgrestest.Options{MaxConnections: 6, Settings: map[string]string{"max_wal_senders": "0"}})
			f.Insert(t, 1000)
			f.Bus.Always(eventbridgetest.Latency(slow))
			f.fills(t, 1)
			relay := f.start(t, nil)
			f.ends()
			relay.deliver(t)
			require.Len(t, f.responses, 1)
		},
	},
	{
		name: "a place becomes free while a run tries to connect",
		how:  "max_connections taken by others until the server has refused the run once",
		play: func(t *testing.T, f *trial) {
			f.alone(t, postgrestest.Options{MaxConnections: 6, Settings: map[string]string{"max_wal_senders": "0"}})
			f.Insert(t, 20)
			others := f.fills(t, 0)
			gate := f.database.gate(t, replies, past(0)) // the refusal
			relay := f.start(t, nil)
			run := relay.Begin(t)
			gate.wait(t)
			for _, other := range others {
				require.NoError(t, other.Close(t.Context()))
			}
			f.ends()
			gate.open()
			relay.wait(t, run)
			relay.deliver(t)
			require.Len(t, f.responses, 1)
		},
	},
	{
		name:    "the database allows no more sessions",
		how:     "ALTER DATABASE ... CONNECTION LIMIT 0 for a whole run",
		reports: "check max_connections, and who holds the connections",
		play: func(t *testing.T, f *trial) {
			f.isWrongUntil(t, "ALTER DATABASE "+f.DB.Name+" CONNECTION LIMIT 0", "ALTER DATABASE "+f.DB.Name+" CONNECTION LIMIT -1")
		},
	},
	{
		name: "the role is allowed one session only",
		how:  "ALTER ROLE ... CONNECTION LIMIT 1; 1,000 events, which more workers would like to share; answers of the bus take a second",
		play: func(t *testing.T, f *trial) {
			f.DB.Exec(t, "ALTER ROLE "+f.Login.Name+" CONNECTION LIMIT 1")
			f.Insert(t, 1000)
			f.Bus.Always(eventbridgetest.Latency(slow))
			relay := f.start(t, nil)
			f.ends()
			relay.deliver(t)
			require.Len(t, f.responses, 1)
		},
	},
}

// fills takes the server's places that are not the superuser's, but for some.
func (f *trial) fills(t *testing.T, less int) []*pgx.Conn {
	t.Helper()
	f.DB.Exec(t, "CREATE ROLE application LOGIN")
	places := f.DB.QueryInt(t, "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int")
	var others []*pgx.Conn
	for range places - less {
		others = append(others, postgrestest.Connect(t, f.DB.URLAs("application")))
	}
	return others
}
