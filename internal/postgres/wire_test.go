package postgres_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// Kinds of messages from a client, as the protocol has them.
const (
	parseMessage    = 'P'
	bindMessage     = 'B'
	describeMessage = 'D'
	executeMessage  = 'E'
	syncMessage     = 'S'
	flushMessage    = 'H'
	queryMessage    = 'Q'
)

// tap keeps what a client sends.
type tap struct {
	net.Conn

	mu   sync.Mutex
	sent bytes.Buffer
}

func (c *tap) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent.Write(p)
	return c.Conn.Write(p)
}

type message struct {
	kind byte
	body []byte
}

// take returns the messages that were sent since it was called last.
func (c *tap) take(t *testing.T) []message {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var messages []message
	for c.sent.Len() > 0 {
		head := c.sent.Next(5)
		require.Len(t, head, 5)
		body := c.sent.Next(int(binary.BigEndian.Uint32(head[1:])) - 4)
		messages = append(messages, message{head[0], bytes.Clone(body)})
	}
	return messages
}

// tapped is a session whose login is over, and what it sends from then on.
func tapped(t *testing.T, db *database) (outbox.Session, *tap) {
	t.Helper()
	var line *tap
	session := db.sessionOver(t, func(conn net.Conn) net.Conn { line = &tap{Conn: conn}; return line })
	line.sent.Reset()
	return session, line
}

func count(messages []message, kind byte) (n int) {
	for _, message := range messages {
		if message.kind == kind {
			n++
		}
	}
	return n
}

// The server answers at a Sync, a Flush or a simple query: without those a
// client cannot but send everything before it reads.
func requireOneRoundTrip(t *testing.T, messages []message, statements int) {
	t.Helper()
	require.Equal(t, statements, count(messages, executeMessage))
	require.Equal(t, 1, count(messages, syncMessage))
	require.Equal(t, byte(syncMessage), messages[len(messages)-1].kind)
	require.Zero(t, count(messages, flushMessage)+count(messages, queryMessage))
}

func TestEachStepIsOneRoundTrip(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 6)
	session, line := tapped(t, db)
	asked := everything
	asked.Rows = 3

	claim(t, session, asked)
	requireOneRoundTrip(t, line.take(t), 4) // begin, settings, claim, settling

	_, receipt, err := session.Settle(t.Context(), outbox.Settlement{
		Published: []int64{1},
		Deferred:  []outbox.Deferral{{Seq: 2, Reason: "later"}},
		Failed:    []outbox.Failure{{Seq: 3, Code: "never", Message: "no"}},
	}, &asked)
	require.NoError(t, err)
	require.True(t, receipt.Committed)
	requireOneRoundTrip(t, line.take(t), 8) // mark, defer, fail, commit, begin, settings, claim, settling

	settle(t, session, outbox.Settlement{Published: []int64{2, 4, 5}})
	requireOneRoundTrip(t, line.take(t), 2) // mark, commit

	require.NoError(t, session.Record(t.Context(), outbox.Settlement{Published: []int64{6}}))
	requireOneRoundTrip(t, line.take(t), 5) // begin, settings, settling, mark, commit
}

// That a claim has succeeded is known one round trip later.
func TestARunTakesItsNumberInOneMoreRoundTripAndSeesOthersInNone(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	session, line := tapped(t, db)
	asked := everything

	asked.Turn = outbox.TakeTurn
	claim(t, session, asked)
	messages := line.take(t)
	require.Equal(t, 6, count(messages, executeMessage)) // begin, settings, claim, settling; number, commit
	require.Equal(t, 2, count(messages, syncMessage))

	db.pending(t, 2)
	asked.Turn, asked.Rows = outbox.SeeTurn, 1
	claim(t, session, asked)
	requireOneRoundTrip(t, line.take(t), 5) // begin, settings, number, claim, settling
	_, _, err := session.Settle(t.Context(), outbox.Settlement{Published: upTo(1)}, &asked)
	require.NoError(t, err)
	requireOneRoundTrip(t, line.take(t), 7) // mark, commit, begin, settings, number, claim, settling
}

func TestNoStatementHasAName(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 40)
	session, line := tapped(t, db)

	published, err := drainAll(t.Context(), session, 3)
	require.NoError(t, err)
	require.Len(t, published, 40)
	require.NoError(t, session.Record(t.Context(), outbox.Settlement{
		Published: []int64{1},
		Deferred:  []outbox.Deferral{{Seq: 2}},
		Failed:    []outbox.Failure{{Seq: 3}},
	}))

	messages := line.take(t)
	for _, message := range messages {
		switch message.kind {
		case parseMessage: // statement, SQL, types
			require.Zero(t, message.body[0], "%q", message.body)
		case bindMessage: // portal, statement, parameters
			require.Equal(t, []byte{0, 0}, message.body[:2], "%q", message.body)
		case describeMessage: // P or S, name
			require.Equal(t, []byte{'P', 0}, message.body)
		case executeMessage: // portal, number of rows
			require.Zero(t, message.body[0])
		case syncMessage:
		default:
			require.Fail(t, "unexpected message", "%c %q", message.kind, message.body)
		}
	}
	require.Greater(t, count(messages, parseMessage), 40)
}

func TestNoStatementIsLeftPrepared(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 40)
	session, conn := db.sessionAndConn(t)
	_, err := drainAll(t.Context(), session, 3)
	require.NoError(t, err)

	var prepared int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_prepared_statements").Scan(&prepared))
	require.Zero(t, prepared)
}
