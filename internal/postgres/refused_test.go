package postgres

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/secretstest"
)

// gate is a server that takes one user and password and refuses others with an
// answer of the test's, as a proxy or a pooler does.
type gate struct {
	user, password string
	refusal        pgproto3.ErrorResponse
	early          bool // before it has seen a password
}

// open returns the port.
func (g *gate) open(t *testing.T) int {
	t.Helper()
	listener := listen(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go g.serve(conn)
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

func (g *gate) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	backend := pgproto3.NewBackend(conn, conn)
	startup, err := backend.ReceiveStartupMessage()
	if err != nil {
		return
	}
	right := startup.(*pgproto3.StartupMessage).Parameters["user"] == g.user
	if right || !g.early {
		right = g.askPassword(backend) == g.password && right
	}
	if right {
		backend.Send(&pgproto3.AuthenticationOk{})
		backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	} else {
		backend.Send(&g.refusal)
	}
	_ = backend.Flush()
	_, _ = backend.Receive() // until the client goes
}

func (g *gate) askPassword(backend *pgproto3.Backend) string {
	backend.Send(&pgproto3.AuthenticationCleartextPassword{})
	_ = backend.SetAuthType(pgproto3.AuthTypeCleartextPassword)
	_ = backend.Flush()
	message, _ := backend.Receive()
	if answer, ok := message.(*pgproto3.PasswordMessage); ok {
		return answer.Password
	}
	return ""
}

func fatal(code, message string) pgproto3.ErrorResponse {
	return pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: message}
}

// secretOf is a secret for the gate.
func secretOf(port int, user, password string) string {
	return fmt.Sprintf(`{"host":"127.0.0.1","port":%d,"dbname":"app","username":%q,"password":%q}`, port, user, password)
}

func TestARotatedLoginIsRecognizedHoweverItIsRefused(t *testing.T) {
	t.Parallel()

	for name, refusal := range map[string]pgproto3.ErrorResponse{
		"PostgreSQL":          fatal("28P01", `password authentication failed for user "relay"`),
		"PostgreSQLNoLogin":   fatal("28000", `role "relay" is not permitted to log in`),
		"RDSIAM":              fatal("28000", `PAM authentication failed for user "relay"`),
		"RDSProxyUser":        fatal("28000", "This RDS proxy has no credentials for the role relay. Check the credentials for this role and try again."),
		"RDSProxyPassword":    fatal("28P01", "The password that was provided for the role relay is wrong."),
		"PgBouncer":           fatal("28P01", "password authentication failed"),
		"PgBouncerOld":        fatal("08P01", "password authentication failed"),
		"PgBouncersOwnServer": fatal("08P01", `server login failed: FATAL password authentication failed for user "relay"`),
	} {
		for when, early := range map[string]bool{"AtOnce": true, "AtThePassword": false} {
			for what, user := range map[string]string{"PasswordChanged": "relay", "UserChanged": "relay_clone"} {
				t.Run(name+when+what, func(t *testing.T) {
					t.Parallel()

					g := &gate{user: user, password: "second", refusal: refusal, early: early}
					port, server := g.open(t), secretstest.New(t)
					server.Set(secretARN, secretOf(port, "relay", "first"))
					connector, err := NewConnector(Settings{SecretARN: secretARN, SSLMode: "disable"}, manager(server))
					require.NoError(t, err)
					first, err := connector.secret.read(t.Context(), time.Now(), nil)
					require.NoError(t, err)
					require.Equal(t, "relay", first.user)
					server.Set(secretARN, secretOf(port, user, "second"))

					conn, err := connector.Connect(t.Context())

					require.NoError(t, err)
					require.Equal(t, user, conn.Config().User)
					require.NoError(t, conn.Close(t.Context()))
					require.Equal(t, 2, server.CallCount())
				})
			}
		}
	}
}

// The login has nothing to do with it.
func TestOtherRefusalsDoNotReadTheSecretAgain(t *testing.T) {
	t.Parallel()

	for _, code := range []string{"53300", "57P03", "3D000", "42501", "0A000", "XX000"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()

			g := &gate{refusal: fatal(code, "no"), early: true}
			server := secretstest.New(t)
			server.Set(secretARN, secretOf(g.open(t), "relay", "first"))

			err := connectFailure(t, Settings{SecretARN: secretARN, SSLMode: "disable"}, manager(server))

			require.ErrorContains(t, err, "(SQLSTATE "+code+")")
			require.Equal(t, 1, server.CallCount())
		})
	}
}

// A pooler says so of more than logins. What it says is not taken for one.
func TestAViolationOfTheProtocolIsReportedAsItIs(t *testing.T) {
	t.Parallel()

	g := &gate{refusal: fatal("08P01", "unsupported startup parameter: x"), early: true}
	server := secretstest.New(t)
	server.Set(secretARN, secretOf(g.open(t), "relay", "first"))

	err := connectFailure(t, Settings{SecretARN: secretARN, SSLMode: "disable"}, manager(server))

	require.ErrorContains(t, err, "unsupported startup parameter: x")
	require.NotContains(t, err.Error(), "the secret")
	require.Equal(t, []string{"AWSCURRENT", "AWSCURRENT"}, stages(server))
}

// The same login may be one elsewhere, where a database was restored.
func TestALoginIsTriedWhereTheSecretSaysByNow(t *testing.T) {
	t.Parallel()

	before := &gate{refusal: fatal("28000", "no"), early: true}
	restored := &gate{user: "relay", password: "first"}
	server := secretstest.New(t)
	server.Set(secretARN, secretOf(before.open(t), "relay", "first"))
	connector, err := NewConnector(Settings{SecretARN: secretARN, SSLMode: "disable"}, manager(server))
	require.NoError(t, err)
	_, err = connector.secret.read(t.Context(), time.Now(), nil)
	require.NoError(t, err)
	server.Set(secretARN, secretOf(restored.open(t), "relay", "first"))

	conn, err := connector.Connect(t.Context())

	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}
