package postgres

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/pgbouncertest"
	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/secretstest"
)

// PgBouncer refuses a password as a violation of the protocol.
func TestARotationIsFollowedBehindAPooler(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	login := db.CreateLogin(t)
	pooler := pgbouncertest.New(t, db.Server, pgbouncertest.Options{})
	server := secretstest.New(t)
	set := func(password string) {
		db.Exec(t, "ALTER ROLE "+login.Name+" PASSWORD '"+password+"'")
		text := full(db, login.Name, password)
		server.Set(secretARN, strings.Replace(text, strconv.Itoa(db.Server.Port()), strconv.Itoa(pooler.Port()), 1))
	}
	set("first")
	connector, err := NewConnector(Settings{SecretARN: secretARN, SSLMode: "disable"}, manager(server))
	require.NoError(t, err)
	for range 3 {
		conn, err := connector.Connect(t.Context())
		require.NoError(t, err)
		require.Equal(t, login.Name, scalar(t, conn, "select current_user"))
		require.NoError(t, conn.Close(t.Context()))
	}

	set("second")

	conn, err := connector.Connect(t.Context())
	require.NoError(t, err)
	require.Equal(t, login.Name, scalar(t, conn, "select current_user"))
	require.NoError(t, conn.Close(t.Context()))
	require.Equal(t, 2, server.CallCount())
}
