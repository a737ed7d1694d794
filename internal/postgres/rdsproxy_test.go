package postgres_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgres"
)

// rdsProxy stands between clients and the server and knows what is documented of
// RDS Proxy: which start-up parameters it refuses, and what pins a session to
// its connection. That it also pins for every statement of the extended protocol,
// as some report, it does not know.
type rdsProxy struct {
	server string

	mu     sync.Mutex
	pinned []string // what has pinned a session, or would have
}

// taken are the start-up parameters that clients of every kind send.
var taken = []string{"user", "database", "application_name", "client_encoding"}

func startRDSProxy(t *testing.T, db *database) *rdsProxy {
	t.Helper()
	address, err := url.Parse(db.login.URL)
	require.NoError(t, err)
	p := &rdsProxy{server: address.Host}
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address.Host = listener.Addr().String()
	db.login.URL = address.String()
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { p.serve(t.Context(), client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		connections.Wait()
	})
	return p
}

func (p *rdsProxy) serve(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	backend := pgproto3.NewBackend(client, client)
	message, err := backend.ReceiveStartupMessage()
	if err != nil {
		return
	}
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	if startup, ok := message.(*pgproto3.StartupMessage); ok && !takes(startup) {
		backend.Send(&pgproto3.ErrorResponse{
			Severity: "FATAL", Code: "0A000", Message: "Feature not supported: RDS Proxy currently doesn't support command-line options.",
		})
		_ = backend.Flush()
		return
	}
	first, err := message.Encode(nil)
	if err != nil {
		return
	}
	_, _ = server.Write(first)
	together(
		func() { _, _ = io.Copy(client, server); _ = client.Close() },
		func() { p.pass(server, client); _ = server.Close() },
	)
}

func takes(startup *pgproto3.StartupMessage) bool {
	for name := range startup.Parameters {
		if !slices.Contains(taken, name) {
			return false
		}
	}
	return true
}

// pass looks at each message that it forwards.
func (p *rdsProxy) pass(server io.Writer, client io.Reader) {
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		p.look(head[0], body)
		if _, err := server.Write(append(slices.Clone(head), body...)); err != nil {
			return
		}
	}
}

func (p *rdsProxy) look(kind byte, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch kind {
	case parseMessage:
		var parse pgproto3.Parse
		if parse.Decode(body) != nil || parse.Name != "" {
			p.pinned = append(p.pinned, "a named statement")
		}
		p.pinned = append(p.pinned, pins(parse.Query)...)
	case queryMessage:
		p.pinned = append(p.pinned, pins(string(body))...)
	}
}

func (p *rdsProxy) reasons() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.pinned)
}

var (
	comments = regexp.MustCompile(`(?m)--.*$`)
	pinning  = map[string]*regexp.Regexp{
		"SET":        regexp.MustCompile(`(?i)(^|;)\s*(SET|RESET)\s`),
		"set_config": regexp.MustCompile(`(?i)set_config\s*\([^;]*?,\s*false\s*\)`),
		"PREPARE":    regexp.MustCompile(`(?i)(^|;)\s*(PREPARE|EXECUTE|DEALLOCATE|DISCARD)\s`),
		"temporary":  regexp.MustCompile(`(?i)\bTEMP(ORARY)?\s+(TABLE|VIEW|SEQUENCE)`),
		"cursor":     regexp.MustCompile(`(?i)(^|;)\s*DECLARE\s`),
		"LISTEN":     regexp.MustCompile(`(?i)(^|;)\s*(LISTEN|UNLISTEN)\s`),
		"LOAD":       regexp.MustCompile(`(?i)(^|;)\s*LOAD\s`),
		"sequence":   regexp.MustCompile(`(?i)\b(nextval|setval|currval|lastval)\s*\(`),
		"lock":       regexp.MustCompile(`(?i)\bpg_(try_)?advisory_(unlock|lock)`),
	}
	// ofTransaction ends with it, and pins nothing.
	ofTransaction = regexp.MustCompile(`(?i)\bSET\s+(LOCAL|TRANSACTION|CONSTRAINTS)\s`)
)

func pins(sql string) (reasons []string) {
	sql = ofTransaction.ReplaceAllString(comments.ReplaceAllString(sql, ""), "")
	for reason, pattern := range pinning {
		if pattern.MatchString(sql) {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

func TestTheStandInForRDSProxyKnowsWhatPins(t *testing.T) {
	t.Parallel()

	for sql, reason := range map[string]string{
		"SET search_path = a": "SET", "BEGIN; RESET ALL": "SET", "SELECT set_config('a', $1::text || 'ms', true), set_config('b', 'c', false)": "set_config",
		"PREPARE a AS SELECT 1": "PREPARE", "CREATE TEMP TABLE a ()": "temporary", "DECLARE a CURSOR FOR SELECT 1": "cursor",
		"LISTEN a": "LISTEN", "LOAD 'a'": "LOAD", "SELECT nextval('a')": "sequence", "SELECT pg_try_advisory_lock(1)": "lock",
	} {
		require.Equal(t, []string{reason}, pins(sql), sql)
	}
	for _, sql := range []string{
		"SET LOCAL a = 1", "BEGIN; SET LOCAL a = 1", "SET CONSTRAINTS ALL IMMEDIATE", "UPDATE a SET b = 1", "SELECT set_config('a', 'b', true)",
		"-- SET a = 1\nSELECT 1", "SELECT pg_try_advisory_xact_lock(1)",
	} {
		require.Empty(t, pins(sql), sql)
	}
}

func TestNothingPinsAConnectionOfRDSProxy(t *testing.T) {
	t.Parallel()

	db := newPooledDatabase(t)
	proxy := startRDSProxy(t, db)
	db.pending(t, 6)

	db.runAll(t, everything, everything)

	require.Empty(t, proxy.reasons())
}

// A sequence is what tells a run that the next one is at work.
func TestAPollingRunPinsAConnectionOfRDSProxyByItsNumber(t *testing.T) {
	t.Parallel()

	db := newPooledDatabase(t)
	proxy := startRDSProxy(t, db)
	db.pending(t, 6)

	db.runAll(t, taking(), seeing())

	require.Equal(t, []string{"sequence"}, proxy.reasons())
}

func TestSaysWhatToDoAboutOptionsThatRDSProxyRefuses(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	startRDSProxy(t, db)
	connector, err := postgres.NewConnector(postgres.Settings{URL: db.login.URL + "&options=-c%20jit%3Doff"}, nil)
	require.NoError(t, err)

	_, err = connector.Connect(t.Context())

	require.ErrorContains(t, err, "RDS Proxy currently doesn't support command-line options")
	require.ErrorContains(t, err, "leave options and settings of the server out of DATABASE_URL and PGOPTIONS")
}
