package postgres_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// limits are settings in seconds.
type limits struct {
	Idle, Statement, Lock, TCPUser, KeepAlive float64
	EnableSort, JIT                           string
}

const limitsSQL = `jsonb_build_object(
	'Idle',       extract(epoch FROM current_setting('idle_in_transaction_session_timeout')::interval),
	'Statement',  extract(epoch FROM current_setting('statement_timeout')::interval),
	'Lock',       extract(epoch FROM current_setting('lock_timeout')::interval),
	'TCPUser',    current_setting('tcp_user_timeout')::float8 / 1000, -- read from the socket, in milliseconds
	'KeepAlive',  current_setting('tcp_keepalives_idle')::int + current_setting('tcp_keepalives_interval')::int * current_setting('tcp_keepalives_count')::int,
	'EnableSort', current_setting('enable_sort'),
	'JIT',        current_setting('jit'))`

// observed makes the outbox a view of itself whose payload is what the settings
// are while it is read, and keeps what they are while a row is marked.
const observed = `
	CREATE TABLE observed (settings jsonb);
	CREATE FUNCTION observe() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO public.observed VALUES (` + limitsSQL + `);
		RETURN new;
	END $$;
	CREATE TRIGGER observe BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION observe();
	ALTER TABLE outbox RENAME TO rows;
	CREATE VIEW outbox AS SELECT seq, id, aggregate_type, aggregate_id, event_type, ` + limitsSQL + ` AS payload, headers, source, topic,
		created_at, deliver_after, retry_at, attempts, last_error, published_at FROM rows;
	GRANT SELECT, DELETE ON outbox TO outbox_relay;
	GRANT UPDATE (retry_at, attempts, last_error, published_at) ON outbox TO outbox_relay;`

func parseLimits(t *testing.T, text string) limits {
	t.Helper()
	var parsed limits
	require.NoError(t, json.Unmarshal([]byte(text), &parsed))
	return parsed
}

// The limits by which row locks end, whatever the role says.
func requireLimits(t *testing.T, now limits) {
	t.Helper()
	require.Greater(t, now.Idle, outbox.PublishWindow.Seconds())
	require.Less(t, now.Idle, 30.0)
	require.Positive(t, now.Lock)
	require.Less(t, now.Lock, now.Statement)
	require.Positive(t, now.Statement)
	require.Positive(t, now.TCPUser)
	require.LessOrEqual(t, now.Statement+now.TCPUser, 30.0)
	require.Positive(t, now.KeepAlive)
	require.LessOrEqual(t, now.Statement+now.KeepAlive, 30.0)
	require.Equal(t, "off", now.EnableSort)
	require.Equal(t, "off", now.JIT)
}

func currentLimits(t *testing.T, conn *pgx.Conn) limits {
	t.Helper()
	var text string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT ("+limitsSQL+")::text").Scan(&text))
	return parseLimits(t, text)
}

func TestLimitsAreInForceInEachTransactionAndGoneAfterIt(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 3)
	db.Exec(t, observed)
	session, conn := db.sessionAndConn(t)
	before := currentLimits(t, conn)
	asked := everything
	asked.Rows = 1

	first := claim(t, session, asked)
	requireLimits(t, parseLimits(t, first.Events[0].Payload))

	second, receipt, err := session.Settle(t.Context(), outbox.Settlement{Published: []int64{1}}, &asked)
	require.NoError(t, err)
	require.True(t, receipt.Committed)
	requireLimits(t, parseLimits(t, second.Events[0].Payload))

	settle(t, session, outbox.Settlement{Published: []int64{2}})
	require.Equal(t, before, currentLimits(t, conn))

	require.NoError(t, session.Record(t.Context(), outbox.Settlement{Published: []int64{3}}))
	require.Equal(t, before, currentLimits(t, conn))

	require.Zero(t, claim(t, session, asked))
	require.Equal(t, before, currentLimits(t, conn))

	marks := db.seqs(t, "SELECT 1 FROM observed")
	require.Len(t, marks, 3)
	require.Equal(t, 1, db.QueryInt(t, "SELECT count(DISTINCT settings) FROM observed"))
	requireLimits(t, parseLimits(t, db.text(t, "SELECT settings FROM observed LIMIT 1")))
}

// A limit of a millisecond would end the session while it publishes: the test
// asks the database several things meanwhile.
func TestLimitsOverrideThoseOfTheRole(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 2)
	db.Exec(t, observed)
	for _, setting := range []string{
		"idle_in_transaction_session_timeout = '1ms'", "lock_timeout = '1ms'", "statement_timeout = '1s'", "tcp_user_timeout = '1s'",
		"enable_sort = on", "jit = on",
	} {
		db.Exec(t, "ALTER ROLE "+db.login.Name+" SET "+setting)
	}
	session := db.session(t)
	asked := everything
	asked.Rows = 1

	first := claim(t, session, asked)
	requireLimits(t, parseLimits(t, first.Events[0].Payload))
	require.Equal(t, []string{"idle in transaction"}, db.states(t))
	second, _, err := session.Settle(t.Context(), outbox.Settlement{Published: []int64{1}}, &asked)
	require.NoError(t, err)
	requireLimits(t, parseLimits(t, second.Events[0].Payload))
	require.Equal(t, []string{"idle in transaction"}, db.states(t))
	settle(t, session, outbox.Settlement{Published: []int64{2}})

	requireLimits(t, parseLimits(t, db.text(t, "SELECT settings FROM observed LIMIT 1")))
}
