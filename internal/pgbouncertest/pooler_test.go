package pgbouncertest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgrestest"
)

func database(t *testing.T) (*postgrestest.Database, postgrestest.Login) {
	t.Helper()
	db := postgrestest.New(t)
	login := db.CreateLogin(t)
	return db, login
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	return postgrestest.Connect(t, url)
}

func backend(t *testing.T, conn *pgx.Conn) (pid int) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid))
	return pid
}

func TestTransactionsShareAConnectionOfTheServer(t *testing.T) {
	t.Parallel()
	db, login := database(t)
	pooler := New(t, db.Server, Options{PoolSize: 1, Userlist: []postgrestest.Login{login}})

	first, second := connect(t, pooler.URL(db.Name, login)), connect(t, pooler.URL(db.Name, login))

	require.Equal(t, backend(t, first), backend(t, second))
	require.Len(t, pooler.Show(t, "SERVERS"), 1)
}

func TestSessionsDoNotShareOne(t *testing.T) {
	t.Parallel()
	db, login := database(t)
	pooler := New(t, db.Server, Options{Mode: "session"})

	first, second := connect(t, pooler.URL(db.Name, login)), connect(t, pooler.URL(db.Name, login))

	require.NotEqual(t, backend(t, first), backend(t, second))
}

func TestAWrongPasswordIsRefused(t *testing.T) {
	t.Parallel()
	db, login := database(t)
	for name, options := range map[string]Options{"AuthQuery": {}, "Userlist": {Userlist: []postgrestest.Login{login}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pooler := New(t, db.Server, options)
			backend(t, connect(t, pooler.URL(db.Name, login)))
			wrong := login
			wrong.Password += "x"
			_, err := pgx.Connect(t.Context(), pooler.URL(db.Name, wrong))
			require.ErrorContains(t, err, "SASL authentication failed")
		})
	}
}

func TestTheSocketIsUsedWhereWanted(t *testing.T) {
	t.Parallel()
	db, login := database(t)
	const local = "SELECT inet_client_addr() IS NULL"
	for _, over := range []bool{false, true} {
		pooler := New(t, db.Server, Options{OverSocket: over})
		var socket bool
		conn := connect(t, pooler.URL(db.Name, login))
		require.NoError(t, conn.QueryRow(t.Context(), local, pgx.QueryExecModeExec).Scan(&socket))
		require.Equal(t, over, socket)
	}
}

func TestWithACertificateClientsWithoutTLSAreRefused(t *testing.T) {
	t.Parallel()
	db, login := database(t)
	certificate, key := postgrestest.SelfSigned(t)
	pooler := New(t, db.Server, Options{CertFile: certificate, KeyFile: key})

	backend(t, connect(t, pooler.URL(db.Name, login)+"?sslmode=verify-full&sslrootcert="+certificate))

	_, err := pgx.Connect(t.Context(), pooler.URL(db.Name, login)+"?sslmode=disable")
	require.ErrorContains(t, err, "SSL required")
}

func TestAFrozenPoolerDoesNotAnswerUntilItIsThawed(t *testing.T) {
	t.Parallel()
	db, login := database(t)
	pooler := New(t, db.Server, Options{})
	conn := connect(t, pooler.URL(db.Name, login))
	thaw := pooler.Freeze(t)
	answer := make(chan int)
	go func() {
		var pid int
		_ = conn.QueryRow(context.WithoutCancel(t.Context()), "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid)
		answer <- pid
	}()
	select {
	case <-answer:
		require.Fail(t, "it has answered")
	case <-time.After(100 * time.Millisecond):
	}
	thaw()
	require.NotZero(t, <-answer)
}

func TestAFailedStartShowsTheLogAndLeavesNothing(t *testing.T) {
	t.Parallel()
	db, _ := database(t)
	_, err := start(t.Context(), mustFind(t), db.Server, Options{Mode: "no_such_mode"})
	require.ErrorContains(t, err, "it ended while it started")
	require.ErrorContains(t, err, "no_such_mode")
}

func TestTheProgramMayBeNamed(t *testing.T) {
	t.Setenv("OUTBOX_TEST_PGBOUNCER", "/no/such/pgbouncer")
	_, err := Find()
	require.ErrorContains(t, err, "OUTBOX_TEST_PGBOUNCER: ")
	t.Setenv("OUTBOX_TEST_PGBOUNCER", "/bin/sh")
	path, err := Find()
	require.NoError(t, err)
	require.Equal(t, "/bin/sh", path)
}
