package postgrestest

import (
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestARestartKeepsPortAndData(t *testing.T) {
	t.Parallel()
	server := NewServer(t, Options{})
	db := New(t, On(server))
	db.Exec(t, "create table event as select 1 as id")
	port := server.Port()
	for _, how := range []Shutdown{Fast, Immediate} {
		before := db.Conn(t)
		require.NoError(t, server.Restart(t.Context(), how))
		require.Equal(t, port, server.Port())
		require.Error(t, before.Ping(t.Context()))
		require.Equal(t, 1, db.QueryInt(t, "select id from event"))
	}
}

func TestAHaltedServerRefusesConnectionsUntilItResumes(t *testing.T) {
	t.Parallel()
	server := NewServer(t, Options{})
	db := New(t, On(server))
	require.NoError(t, server.Halt(Fast))
	_, err := pgx.Connect(t.Context(), db.URL())
	require.ErrorContains(t, err, "connection refused")
	require.NoError(t, server.Resume(t.Context()))
	Connect(t, db.URL())
}

func TestASmartShutdownWaitsForSessions(t *testing.T) {
	t.Parallel()
	server := NewServer(t, Options{})
	db := New(t, On(server))
	session := db.Conn(t)
	halted := make(chan error, 1)
	go func() { halted <- server.Halt(Smart) }()
	for {
		other, err := db.Connect(t.Context())
		if err != nil {
			require.ErrorContains(t, err, "57P03")
			break
		}
		require.NoError(t, other.Close(t.Context()))
	}
	require.NoError(t, session.Ping(t.Context()))
	require.NoError(t, session.Close(t.Context()))
	require.NoError(t, <-halted)
}

func TestResumeWaitsForItsPort(t *testing.T) {
	t.Parallel()
	server := NewServer(t, Options{})
	require.NoError(t, server.Halt(Fast))
	var network net.ListenConfig
	squatter, err := network.Listen(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(server.Port()))
	require.NoError(t, err)
	require.ErrorIs(t, server.launch(t.Context()), errPortTaken)

	resumed := make(chan error, 1)
	go func() { resumed <- server.Resume(t.Context()) }()
	require.NoError(t, squatter.Close())
	require.NoError(t, <-resumed)
}

func TestStopRemovesTheDataAndMayRunTwice(t *testing.T) {
	t.Parallel()
	server, err := Start(t.Context(), Options{})
	require.NoError(t, err)
	require.NoError(t, server.Stop())
	require.NoDirExists(t, server.cluster.directory)
	require.NoError(t, server.Stop())
}

func TestSettingsReachTheServer(t *testing.T) {
	t.Parallel()
	server := NewServer(t, Options{MaxConnections: 17, Durable: true, Settings: map[string]string{"work_mem": "5MB"}})
	db := New(t, On(server))
	require.Equal(t, "17", Scalar[string](t, db, "show max_connections"))
	require.Equal(t, "on", Scalar[string](t, db, "show fsync"))
	require.Equal(t, "5MB", Scalar[string](t, db, "show work_mem"))
	require.Equal(t, server.Version(), Scalar[string](t, db, "select split_part(current_setting('server_version'), ' ', 1)"))
}

func TestAFailedStartShowsTheServersLogAndLeavesNothing(t *testing.T) {
	t.Parallel()
	before := Options{Settings: map[string]string{"no_such_setting": "1"}}
	made, err := newCluster(t.Context(), before)
	require.NoError(t, err)
	server := &Server{cluster: made}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(made.directory)) })
	err = server.begin(t.Context())
	require.ErrorContains(t, err, "the server ended while it started")
	require.ErrorContains(t, err, `unrecognized configuration parameter "no_such_setting"`)
}

func TestTLSIsServedWithTheGivenCertificate(t *testing.T) {
	t.Parallel()
	certificate, key := SelfSigned(t)
	server := NewServer(t, Options{CertFile: certificate, KeyFile: key, HBA: []string{"hostnossl all all all reject"}})
	db := New(t, On(server))
	conn := Connect(t, db.URL()+"?sslmode=verify-full&sslrootcert="+certificate)
	var encrypted bool
	require.NoError(t, conn.QueryRow(t.Context(), "select ssl from pg_stat_ssl where pid = pg_backend_pid()").Scan(&encrypted))
	require.True(t, encrypted)
	_, err := pgx.Connect(t.Context(), db.URL()+"?sslmode=disable")
	require.ErrorContains(t, err, "SQLSTATE 28000")
}
