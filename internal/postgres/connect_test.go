package postgres

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgrestest"
)

// mustConnect opens a connection that is closed when the test ends.
func mustConnect(t *testing.T, settings Settings, secrets SecretsManager) *pgx.Conn {
	t.Helper()
	connector, err := NewConnector(settings, secrets)
	require.NoError(t, err)
	conn, err := connector.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// connectFailure returns the error of a connection that cannot be opened.
func connectFailure(t *testing.T, settings Settings, secrets SecretsManager) error {
	t.Helper()
	connector, err := NewConnector(settings, secrets)
	require.NoError(t, err)
	_, err = connector.Connect(t.Context())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	return err
}

func scalar(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	var value string
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&value))
	return value
}

func TestConnectsByURL(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	conn := mustConnect(t, Settings{URL: db.URL()}, nil)

	require.Equal(t, db.Name, scalar(t, conn, "select current_database()"))
	require.Equal(t, "outbox-relay", scalar(t, conn, "show application_name"))
	require.Equal(t, "0", scalar(t, conn, "select count(*)::text from pg_prepared_statements"))
}

func TestConnectsByKeywords(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	keywords := fmt.Sprintf("host=127.0.0.1 port=%d dbname=%s user=postgres sslmode=disable application_name=mine", db.Server.Port(), db.Name)
	conn := mustConnect(t, Settings{URL: keywords}, nil)

	require.Equal(t, db.Name, scalar(t, conn, "select current_database()"))
	require.Equal(t, "mine", scalar(t, conn, "show application_name"))
}

func TestConnectsThroughASocketWithoutTLS(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	conn := mustConnect(t, Settings{URL: fmt.Sprintf("host=%s port=%d dbname=%s user=postgres",
		db.Server.SocketDirectory(), db.Server.Port(), db.Name)}, nil)

	require.Equal(t, db.Name, scalar(t, conn, "select current_database()"))
}

// Not parallel, nor are other tests that change the environment.
func TestConnectsByVariables(t *testing.T) {
	db := postgrestest.New(t)
	t.Setenv("PGHOST", "127.0.0.1")
	t.Setenv("PGPORT", fmt.Sprint(db.Server.Port()))
	t.Setenv("PGDATABASE", db.Name)
	t.Setenv("PGUSER", "postgres")
	conn := mustConnect(t, Settings{SSLMode: "disable"}, nil)

	require.Equal(t, db.Name, scalar(t, conn, "select current_database()"))
}

func TestTriesTheNextHost(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	conn := mustConnect(t, Settings{URL: fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/%s?sslmode=disable",
		closedPort(t), db.Server.Port(), db.Name)}, nil)

	require.Equal(t, db.Name, scalar(t, conn, "select current_database()"))
}

func TestSaysWhatIsWrongWithAConnection(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	login := db.CreateLogin(t)
	closed := closedPort(t)
	for name, test := range map[string]struct{ url, says, advises string }{
		"WrongPassword": {
			db.Server.URL(db.Name, login.Name, "hunter2"),
			fmt.Sprintf("connect to postgres at 127.0.0.1:%d/%s as %s: ", db.Server.Port(), db.Name, login.Name),
			"check user and password",
		},
		"NoSuchDatabase": {db.Server.URL("nowhere", "postgres", "hunter2"), "(SQLSTATE 3D000)", "check the database's name"},
		"NothingListens": {
			fmt.Sprintf("postgres://u:hunter2@127.0.0.1:%d/app?sslmode=disable", closed),
			"refused", "check the port",
		},
		"NoSuchHost": {
			"postgres://u:hunter2@db.invalid/app?sslmode=disable",
			"connect to postgres at db.invalid:5432/app as u: ", "check the host name",
		},
		"WithoutTLS": {
			strings.TrimSuffix(db.Server.URL(db.Name, "postgres", "hunter2"), "?sslmode=disable"),
			"server refused TLS connection", "turn on TLS on the server, or say sslmode=disable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			err := connectFailure(t, Settings{URL: test.url, ConnectTimeout: 10 * time.Second}, nil)

			require.ErrorContains(t, err, test.says)
			require.ErrorContains(t, err, "; "+test.advises)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestGivesUpOnAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()

	silent := listen(t) // accepts, but nobody reads
	t.Cleanup(func() { _ = silent.Close() })

	err := connectFailure(t, Settings{
		URL:            fmt.Sprintf("postgres://u@%s/app?sslmode=disable", silent.Addr()),
		ConnectTimeout: 100 * time.Millisecond,
	}, nil)

	require.ErrorContains(t, err, "; check that the database's security group lets the function's in at this port")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestRefusesSettingsWithoutShowingThem(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		settings Settings
		says     string
	}{
		"Prefer":             {Settings{URL: "postgres://u:hunter2@db/app?sslmode=prefer"}, "sslmode=prefer falls back to plaintext silently: choose one of verify-full, verify-ca, require, disable"},
		"Allow":              {Settings{URL: "host=db password=hunter2 sslmode='allow'"}, "sslmode=allow falls back to plaintext silently"},
		"PreferByVariable":   {Settings{URL: "host=db", SSLMode: "prefer"}, "sslmode=prefer"},
		"UnknownMode":        {Settings{URL: "host=db sslmode=hunter2"}, "sslmode is empty or unknown: choose one of"},
		"SlashInPassword":    {Settings{URL: "postgres://u:hunter2/x@db/app"}, "percent-encode"},
		"PercentInPassword":  {Settings{URL: "postgres://u:hunter2%zz@db/app"}, "percent-encode"},
		"BlankInPassword":    {Settings{URL: "host=db password=old hunter2"}, "in single quotes"},
		"Port":               {Settings{URL: "postgres://u:hunter2@db:99999/app"}, "ports are numbers"},
		"NoCertificates":     {Settings{URL: "host=db password=hunter2 sslrootcert=/nowhere/ca.pem"}, "open /nowhere/ca.pem: no such file"},
		"EscapesWhatFollows": {Settings{URL: `host=db sslmode=hunter2\`}, "sslmode is empty or unknown"},
		"EmptyMode":          {Settings{URL: "host=db password=hunter2 sslmode="}, "sslmode is empty or unknown"},
		"EmptyModeInURL":     {Settings{URL: "postgres://u:hunter2@db/app?sslmode="}, "sslmode is empty or unknown"},
		"EmptyHost":          {Settings{URL: "host='' password=hunter2", SecretARN: "arn"}, "has an empty host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := NewConnector(test.settings, nil)

			require.ErrorContains(t, err, "connect to postgres: ")
			require.ErrorContains(t, err, test.says)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestKnowsWhatAConnectionStringSets(t *testing.T) {
	t.Parallel()

	type set = map[string]string
	for text, expected := range map[string]set{
		"":                         {},
		"postgres://":              {},
		"postgres://db":            {"host": "db"},
		"postgres://db:1/":         {"host": "db", "port": "1"},
		"postgresql://u:p@db/app?": {"user": "u", "host": "db", "database": "app"},
		"postgres://u:p?sslmode=x@db/app?sslmode=require":  {"user": "u", "host": "db", "database": "app", "sslmode": "require"},
		"postgres://a%40b@db":                              {"user": "a%40b", "host": "db"},
		"postgres://:p@db":                                 {"host": "db"},
		"postgres://db?user=u":                             {"user": "u", "host": "db"},
		"postgres:///app?host=db&port=2&sslmode=":          {"host": "db", "port": "2", "database": "app"},
		"postgres://h1,h2:3/?dbname=app":                   {"host": "h1", "port": "3", "database": "app"},
		"postgres://[::1]/app?ssl=true":                    {"host": "[::1]", "database": "app", "sslmode": "require"},
		"postgres://[fe80::1]:5/app?sslmode=verify%2dfull": {"host": "[fe80::1]", "port": "5", "database": "app", "sslmode": "verify-full"},
		"host=db": {"host": "db"},
		"  host = 'a b'  port= 1 dbname='x\\'y' ":             {"host": "a b", "port": "1", "database": "x'y"},
		"password='host=evil sslmode=disable' dbname=app":     {"database": "app"},
		"password=a\\ sslmode=disable dbname=app sslmode=''":  {"database": "app"},
		"user='' sslmode = disable sslmode = 'verify-\\full'": {"sslmode": "verify-full"},
	} {
		keys := connectKeys(text)
		got := set{}
		for _, key := range []string{"user", "host", "port", "database", "sslmode"} {
			if value := keys[key]; value != "" {
				got[key] = value
			}
		}
		require.Equal(t, expected, got, text)
	}
}

func TestAddsKeysWhereTheDriverFindsThem(t *testing.T) {
	t.Parallel()

	for _, text := range []string{
		"", "user=u", "user=u password=", `password=x\\`, "postgres://", "postgres://db", "postgres://db/app", "postgres://db/app?", "postgres://db/app?port=1",
		"postgres://u:p?q@db/app", "postgres://u:p?q@db?port=1",
	} {
		config, err := pgx.ParseConfig(addKeys(text, "sslmode=verify-full", "host="+hostToCome))
		require.NoError(t, err, text)
		require.Equal(t, hostToCome, config.Host, text)
		require.Equal(t, hostToCome, config.TLSConfig.ServerName, text)
		require.False(t, config.TLSConfig.InsecureSkipVerify, text)
	}
}

// closedPort is one that nobody listens at, for all that a test can know.
func closedPort(t *testing.T) int {
	t.Helper()
	listener := listen(t)
	require.NoError(t, listener.Close())
	return listener.Addr().(*net.TCPAddr).Port
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}
