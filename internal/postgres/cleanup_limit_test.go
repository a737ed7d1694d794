package postgres_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
)

// slowLine is a connection to a server that is far away.
type slowLine struct {
	net.Conn

	delay time.Duration
}

func (c *slowLine) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	<-time.After(c.delay)
	return n, err
}

// What the server does for a batch, and nothing of what the network does.
func TestCleanupTellsWhatTheServerHasSpentOnABatch(t *testing.T) {
	t.Parallel()

	const asleep = 60 * time.Millisecond
	for name, trigger := range map[string]string{
		"BeforeTheRowIsGone": deleting("PERFORM pg_sleep(0.06)"),
		"AfterTheRowIsGone":  afterDeleting("TRIGGER", "", "pg_sleep(0.06)"),
		"AtTheCommit":        afterDeleting("CONSTRAINT TRIGGER", "DEFERRABLE INITIALLY DEFERRED", "pg_sleep(0.06)"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newCleanupDatabase(t)
			db.expired(t, 1)
			db.Exec(t, trigger)
			line := &slowLine{}
			session, err := postgres.NewCleanupStore(db.dial(func(conn net.Conn) net.Conn { line.Conn = conn; return line }), publicOutbox).
				Connect(t.Context())
			require.NoError(t, err)
			defer session.Close(context.WithoutCancel(t.Context()))
			line.delay = asleep
			began := time.Now()

			deleted, err := session.Delete(t.Context(), deletion(1))

			require.NoError(t, err)
			require.Equal(t, 1, deleted.Deleted)
			require.GreaterOrEqual(t, deleted.Took, asleep)
			require.LessOrEqual(t, deleted.Took, time.Since(began)-line.delay)
		})
	}
}

// A lock on rows would last as long as the check does.
func TestALimitEndsWhatWaitsForTheCommit(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 1)
	db.Exec(t, afterDeleting("CONSTRAINT TRIGGER", "DEFERRABLE INITIALLY DEFERRED", "pg_sleep(2)"))
	asked := deletion(1)
	asked.Limit = 200 * time.Millisecond

	_, err := db.cleanupSession(t).Delete(t.Context(), asked)

	requireUndone(t, err, outbox.ByLimit)
	require.Equal(t, []int64{1}, db.left(t))
}

func requireUndone(t *testing.T, err error, by outbox.UndoneBy) {
	t.Helper()
	var undone *outbox.UndoneError
	require.ErrorAs(t, err, &undone)
	require.Equal(t, by, undone.By, err.Error())
}

func TestCleanupKnowsARefusalFromALimit(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 1)
	db.Exec(t, deleting("RAISE 'never'"))

	_, err := db.cleanupSession(t).Delete(t.Context(), deletion(1))

	requireUndone(t, err, outbox.ByRefusal)
}

// A migration that holds the table, say.
func TestALockOnTheTableUndoesABatchInTime(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 10)
	holder := db.Conn(t)
	_, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE outbox IN SHARE MODE", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	session := db.cleanupSession(t)
	asked := deletion(10)
	asked.Limit = 200 * time.Millisecond

	_, err = session.Delete(t.Context(), asked)
	requireUndone(t, err, outbox.ByLock)
	require.ErrorContains(t, err, "canceling statement due to lock timeout")

	_, err = holder.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	deleted, err := session.Delete(t.Context(), asked)
	require.NoError(t, err, "the session goes on")
	require.Equal(t, 10, deleted.Deleted)
}

func TestALockedTableIsNamedAndTheOthersAreCleaned(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 10)
	db.failedAndRedriven(t, 10)
	holder := db.Conn(t)
	_, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)

	report, err := db.cleanWithin(t, 10*time.Second, publicOutbox, cleaning)

	require.ErrorContains(t, err, "no published event could be looked for: somebody holds a lock on the table")
	require.Equal(t, outbox.CleanupReport{DeletedFailed: 10, Batches: 1}, report)
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox_redriven"))
}

// The server ends such a session itself, which takes it as long as the limit is.
func TestASilenceIsExplainedToWhomItConcerns(t *testing.T) {
	t.Parallel()

	const silence = "RAISE 'terminating connection' USING errcode = 'idle_in_transaction_session_timeout'"
	db := newCleanupDatabase(t)
	db.expired(t, 1)
	db.Exec(t, deleting(silence))
	_, err := db.cleanupSession(t).Delete(t.Context(), deletion(1))
	require.ErrorContains(t, err, "what was to follow did not reach the database in time: look at the network")

	relay := db.as(t, "outbox_relay")
	relay.Exec(t, strings.NewReplacer("DELETE", "UPDATE", "on_delete", "on_update").Replace(deleting(silence)))
	relay.Exec(t, "INSERT INTO outbox (seq, event_type, payload) VALUES (2, 'a', '{}')")
	session := relay.session(t)
	claimed := seqsOf(claim(t, session, everything))
	_, _, err = session.Settle(t.Context(), outbox.Settlement{Published: claimed}, nil)
	require.ErrorContains(t, err, "the batch was not settled in time")
}

// Whatever the role says, and not beyond the transaction.
func TestLimitsOfACleanupAreInForceInItsTransaction(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 2)
	db.Exec(t, "CREATE TABLE observed (settings jsonb)")
	db.Exec(t, deleting("INSERT INTO public.observed VALUES ("+limitsSQL+" || jsonb_build_object("+
		"'Commit', current_setting('synchronous_commit'), 'Transaction', current_setting('transaction_timeout', true)))"))
	db.Exec(t, "ALTER FUNCTION on_delete() SECURITY DEFINER")
	for _, setting := range []string{
		"idle_in_transaction_session_timeout = '7s'", "lock_timeout = '7s'", "statement_timeout = '7s'", "tcp_user_timeout = '7s'",
		"enable_sort = on", "jit = on",
	} {
		db.Exec(t, "ALTER ROLE "+db.login.Name+" SET "+setting)
	}
	var conn *pgx.Conn
	session, err := postgres.NewCleanupStore(func(ctx context.Context) (_ *pgx.Conn, err error) {
		conn, err = db.connect(ctx)
		return conn, err
	}, publicOutbox).Connect(t.Context())
	require.NoError(t, err)
	before := currentLimits(t, conn)
	asked := deletion(2)
	asked.Limit = 200 * time.Millisecond

	deleted, err := session.Delete(t.Context(), asked)

	require.NoError(t, err)
	require.Equal(t, 2, deleted.Deleted)
	require.Equal(t, before, currentLimits(t, conn))
	require.Equal(t, limits{Idle: 10, Statement: 0.2, Lock: 0.1, TCPUser: 18, KeepAlive: 16, EnableSort: "off", JIT: "off"},
		parseLimits(t, db.text(t, "SELECT settings FROM observed LIMIT 1")))
	require.Equal(t, "off", db.text(t, "SELECT settings ->> 'Commit' FROM observed LIMIT 1"))
	if db.Server.Major() >= 17 {
		require.Equal(t, "2200ms", db.text(t, "SELECT settings ->> 'Transaction' FROM observed LIMIT 1"))
	}
	session.Close(t.Context())
	db.waitForNobody(t)
}
