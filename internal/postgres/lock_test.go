package postgres_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
)

func TestTwoSessionsClaimDifferentRows(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 10)
	first, second := db.session(t), db.session(t)
	asked := everything
	asked.Rows = 4

	require.Equal(t, upTo(4), seqsOf(claim(t, first, asked)))
	require.Equal(t, between(5, 8), seqsOf(claim(t, second, asked)))

	settle(t, first, outbox.Settlement{Published: upTo(3)})
	require.Equal(t, []int64{4, 9, 10}, seqsOf(claim(t, first, asked)))
}

// Locked by the claim, but not returned: nobody else gets them meanwhile.
func TestRowsThatWereTooManyBytesStayLocked(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 5)
	session := db.session(t)
	asked := everything
	asked.Bytes = 1
	require.Equal(t, upTo(1), seqsOf(claim(t, session, asked)))

	require.Empty(t, db.claimSeqs(t, everything))
	settle(t, session, outbox.Settlement{Published: upTo(1)})
	require.Equal(t, between(2, 5), db.claimSeqs(t, everything))
}

func TestRowsAreFreeAgainWhenTheirSession(t *testing.T) {
	t.Parallel()

	for name, end := range map[string]func(*testing.T, *database, outbox.Session, net.Conn){
		"Closes": func(t *testing.T, _ *database, session outbox.Session, _ net.Conn) {
			t.Helper()
			session.Close(t.Context())
		},
		"ClosesWithoutTime": func(t *testing.T, _ *database, session outbox.Session, _ net.Conn) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			session.Close(ctx)
		},
		"IsTerminated": func(t *testing.T, db *database, session outbox.Session, _ net.Conn) {
			t.Helper()
			require.Positive(t, db.TerminateSessions(t))
			_, receipt, err := session.Settle(t.Context(), outbox.Settlement{Published: upTo(3)}, nil)
			require.Error(t, err)
			require.False(t, receipt.Committed)
			require.NotErrorIs(t, err, outbox.ErrRefused)
		},
		"IsCut": func(t *testing.T, _ *database, session outbox.Session, conn net.Conn) {
			t.Helper()
			cut(t, conn)
			_, receipt, err := session.Settle(t.Context(), outbox.Settlement{Published: upTo(3)}, nil)
			require.Error(t, err)
			require.False(t, receipt.Committed)
			require.NotErrorIs(t, err, outbox.ErrRefused)
		},
		"IsCancelled": func(t *testing.T, _ *database, session outbox.Session, _ net.Conn) {
			t.Helper()
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("out of time"))
			_, receipt, err := session.Settle(ctx, outbox.Settlement{Published: upTo(3)}, nil)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorContains(t, err, "out of time")
			require.False(t, receipt.Committed)
			require.NotErrorIs(t, err, outbox.ErrRefused)
			session.Close(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newDatabase(t)
			db.pending(t, 3)
			var conn net.Conn
			session := db.sessionOver(t, func(c net.Conn) net.Conn { conn = c; return c })
			require.Equal(t, upTo(3), seqsOf(claim(t, session, everything)))
			require.Empty(t, db.claimSeqs(t, everything))

			end(t, db, session, conn)

			db.waitForNobody(t)
			require.Empty(t, db.published(t))
			require.Equal(t, upTo(3), db.claimSeqs(t, everything))
		})
	}
}

// Twenty relays that die between claim and settling.
func TestNoRowIsLostWithARelayThatDies(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 60)
	asked := everything
	asked.Rows = 3
	for range 20 {
		var conn net.Conn
		session := db.sessionOver(t, func(c net.Conn) net.Conn { conn = c; return c })
		require.Len(t, claim(t, session, asked).Events, 3)
		cut(t, conn)
	}

	session, published := db.session(t), []int64{}
	require.Eventually(t, func() bool {
		batch, err := session.Claim(t.Context(), everything)
		if err != nil {
			return false
		}
		_, receipt, err := session.Settle(t.Context(), outbox.Settlement{Published: seqsOf(batch)}, nil)
		published = append(published, seqsOf(batch)...)
		return receipt.Committed && err == nil && len(published) >= 60
	}, patience, tick)
	slices.Sort(published)
	require.Equal(t, upTo(60), published)
	require.Equal(t, upTo(60), db.published(t))
}

func TestNoTransactionStaysOpen(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	session := db.session(t)

	require.Zero(t, claim(t, session, everything))
	require.Equal(t, []string{"idle"}, db.states(t), "after a claim that found nothing")

	db.pending(t, 4)
	asked := everything
	asked.Rows = 2
	claim(t, session, asked)
	require.Equal(t, []string{"idle in transaction"}, db.states(t), "with a batch")

	settle(t, session, outbox.Settlement{Published: upTo(2)})
	require.Equal(t, []string{"idle"}, db.states(t), "after settling without a claim")

	claim(t, session, asked)
	batch, receipt, err := session.Settle(t.Context(), outbox.Settlement{Published: []int64{3, 4}}, &asked)
	require.NoError(t, err)
	require.True(t, receipt.Committed)
	require.Zero(t, batch)
	require.Equal(t, []string{"idle"}, db.states(t), "after settling with a claim that found nothing")

	require.NoError(t, session.Record(t.Context(), outbox.Settlement{Published: upTo(2)}))
	require.Equal(t, []string{"idle"}, db.states(t), "after recording")
}

// A stricter default would make a claim fail on each row that another session
// has just settled, a read-only one on each row.
func TestTheDatabasesDefaultsDoNotDisturbTwoRelays(t *testing.T) {
	t.Parallel()

	const rows = 400
	db := newDatabase(t)
	db.pending(t, rows)
	db.Exec(t, "ALTER DATABASE "+db.Name+" SET default_transaction_isolation = 'serializable'")
	db.Exec(t, "ALTER DATABASE "+db.Name+" SET default_transaction_deferrable = on")
	db.Exec(t, "ALTER ROLE "+db.login.Name+" SET default_transaction_read_only = on")

	var published [2][]int64
	var errs [2]error
	sessions := [2]outbox.Session{db.session(t), db.session(t)}
	drain := func(i int) func() {
		return func() { published[i], errs[i] = drainAll(t.Context(), sessions[i], 4) }
	}
	together(drain(0), drain(1))

	require.NoError(t, errs[0])
	require.NoError(t, errs[1])
	require.NotEmpty(t, published[0])
	require.NotEmpty(t, published[1])
	require.ElementsMatch(t, upTo(rows), slices.Concat(published[0], published[1]))
	require.Len(t, db.published(t), rows)
}

// drainAll claims and settles batches until there are no more.
func drainAll(ctx context.Context, session outbox.Session, rows int) (published []int64, err error) {
	asked := everything
	asked.Rows = rows
	batch, err := session.Claim(ctx, asked)
	for err == nil && batch.Locked > 0 {
		var receipt outbox.Receipt
		seqs := seqsOf(batch)
		batch, receipt, err = session.Settle(ctx, outbox.Settlement{Published: seqs}, &asked)
		if receipt.Committed {
			published = append(published, seqs...)
		}
	}
	return published, err
}

// sessionOver opens a session whose connection the test gets hold of first.
func (d *database) sessionOver(t *testing.T, wrap func(net.Conn) net.Conn) outbox.Session {
	t.Helper()
	return openSession(t, d.dial(wrap), postgres.StoreConfig{Table: publicOutbox, Bus: "events"})
}

func (d *database) dial(wrap func(net.Conn) net.Conn) func(context.Context) (*pgx.Conn, error) {
	return d.dialWith(wrap, nil)
}

// dialWith prepares the socket too, as net.Dialer's Control does. What the
// driver dials later, to cancel a statement, is none of the test's business.
func (d *database) dialWith(
	wrap func(net.Conn) net.Conn, control func(network, address string, raw syscall.RawConn) error,
) func(context.Context) (*pgx.Conn, error) {
	var dialled atomic.Bool
	return func(ctx context.Context) (*pgx.Conn, error) {
		config, err := pgx.ParseConfig(d.login.URL)
		if err != nil {
			return nil, err
		}
		config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{Control: control}).DialContext(ctx, network, address)
			if err != nil || dialled.Swap(true) {
				return conn, err
			}
			return wrap(conn), nil
		}
		return pgx.ConnectConfig(ctx, config)
	}
}

// cut resets the connection, as the kernel does for a process that was killed
// with an answer unread.
func cut(t *testing.T, conn net.Conn) {
	t.Helper()
	tcp, ok := conn.(*net.TCPConn)
	require.True(t, ok)
	require.NoError(t, tcp.SetLinger(0))
	if err := tcp.Close(); err != nil {
		require.ErrorIs(t, err, syscall.ECONNRESET)
	}
}
