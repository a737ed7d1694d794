package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

func TestCommitIsCertainOnlyWithAnAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		err  error
		want fate
	}{
		{"Success", nil, committed},
		{"TheServersRefusal", fmt.Errorf("commit: %w", &pgconn.PgError{Code: "40001"}), rolledBack},
		{"RollbackForAnAnswer", pgx.ErrTxCommitRollback, rolledBack},
		{"NoAnswer", io.ErrUnexpectedEOF, unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, fateOf(test.err))
		})
	}
}

func TestProducerWritesTheOrderWithItsEvents(t *testing.T) {
	t.Parallel()
	db, producers, conn := openedShop(t)
	made := newTransaction(1)

	require.NoError(t, producers.write(t.Context(), conn, made))

	require.Equal(t, 1, db.QueryInt(t, "select count(*) from shop.orders"))
	require.Equal(t, len(made.events), db.QueryInt(t, "select count(*) from outbox where aggregate_id = '1'"))
	var written order
	payload := postgrestest.Scalar[string](t, db, "select payload::text from outbox where id = $1", made.events[0].id)
	require.NoError(t, json.Unmarshal([]byte(payload), &written))
	require.Equal(t, made.order, written)
	for _, e := range producers.ledger.all() {
		require.Equal(t, committed, e.fate)
		require.NotZero(t, e.committedAt)
	}
}

func TestProducerLeavesNothingOfWhatItRollsBack(t *testing.T) {
	t.Parallel()
	db, producers, conn := openedShop(t)

	require.NoError(t, producers.write(t.Context(), conn, newTransaction(9)))

	require.Zero(t, db.QueryInt(t, "select count(*) from shop.orders"))
	require.Zero(t, db.QueryInt(t, "select count(*) from outbox"))
	require.Equal(t, rolledBack, producers.ledger.all()[0].fate)
}

func TestPostgreSQLTakesWhatEventBridgeRefuses(t *testing.T) {
	t.Parallel()
	db, producers, conn := openedShop(t)

	require.NoError(t, producers.write(t.Context(), conn, newTransaction(10)))
	require.NoError(t, producers.write(t.Context(), conn, newTransaction(35)))
	require.NoError(t, producers.write(t.Context(), conn, newTransaction(60)))

	require.Equal(t, 3, db.QueryInt(t, `select count(*) from outbox
		where source like 'aws.%' or length(event_type) > 128 or octet_length(payload::text) > 1048576`))
}

func TestProducersStopWhenTheyAreTold(t *testing.T) {
	t.Parallel()
	db, producers, _ := openedShop(t)
	stop := make(chan struct{})
	close(stop)

	require.NoError(t, producers.run(t.Context(), stop))

	require.Empty(t, producers.ledger.unresolved())
	require.Equal(t, producers.ledger.committedSoFar(), db.QueryInt(t, "select count(*) from outbox"))
}

func TestAuditFindsWhatIsInTheTables(t *testing.T) {
	t.Parallel()
	db, producers, conn := openedShop(t)
	made := newTransaction(1)
	require.NoError(t, producers.write(t.Context(), conn, made))
	require.NoError(t, producers.write(t.Context(), conn, newTransaction(2)))
	db.Exec(t, `update outbox set published_at = now() where id = $1`, made.events[0].id)
	db.Exec(t, `insert into outbox_failed (seq, id, event_type, payload, created_at, error_code, error_message)
		values (-1, '00000000-0000-4000-8000-000000000000', 'x', '{}', now(), 'InvalidArgument', 'too long')`)

	found, err := audit(t.Context(), db.URL(), []int{1, 5})

	require.NoError(t, err)
	require.Equal(t, tables{
		pending:  len(made.events) - 1 + 2,
		kept:     1,
		failures: map[string]failure{"00000000-0000-4000-8000-000000000000": {-1, "InvalidArgument", "too long"}},
		written:  []int{1},
	}, found)
}

// The verdict must not depend on rows that the cleanup deletes.
func TestAuditKnowsOfACommitAlsoWhenItsEventsAreDeleted(t *testing.T) {
	t.Parallel()
	db, producers, conn := openedShop(t)
	require.NoError(t, producers.write(t.Context(), conn, newTransaction(1)))
	db.Exec(t, "delete from outbox")

	found, err := audit(t.Context(), db.URL(), []int{1})

	require.NoError(t, err)
	require.Equal(t, []int{1}, found.written)
}

func TestWhatFailedIsMendedBySQL(t *testing.T) {
	t.Parallel()
	db, producers, conn := openedShop(t)
	for _, n := range []int{10, 35, 60, 1} {
		require.NoError(t, producers.write(t.Context(), conn, newTransaction(n)))
	}
	db.Exec(t, `insert into outbox_failed (seq, id, event_type, payload, source, created_at, error_code, error_message)
		select seq, id, event_type, payload, source, created_at, 'code', 'message' from outbox`)

	for _, statement := range []string{mendSourceSQL, mendTypeSQL} {
		rows, err := affect(t.Context(), db.URL(), statement)
		require.NoError(t, err)
		require.EqualValues(t, 1, rows)
	}

	for _, e := range producers.ledger.all() {
		got := e.delivered()
		require.Equal(t, 1, db.QueryInt(t, "select count(*) from outbox_failed where id = $1 and event_type = $2 and coalesce(source, 'outbox') = $3",
			got.id, got.kind, got.source), "%v", e.flaw)
	}
}

func TestProducersSayWhyTheyCannotGoOn(t *testing.T) {
	t.Parallel()
	db, producers, _ := openedShop(t)
	db.Exec(t, "drop table shop.orders")

	err := producers.run(t.Context(), make(chan struct{}))

	require.ErrorContains(t, err, "produce: write order")
	_, ok := errors.AsType[*pgconn.PgError](err)
	require.True(t, ok)
}

// openedShop is a database with an outbox and a shop, and a producer of it.
func openedShop(t *testing.T) (*postgrestest.Database, *producers, *pgx.Conn) {
	t.Helper()
	schema := postgres.Schema(postgres.Table{Schema: "public", Name: "outbox"})
	db := postgrestest.New(t, postgrestest.Schema(schema))
	login := db.CreateLogin(t, "outbox_writer")
	require.NoError(t, openShop(t.Context(), db, login))
	return db, &producers{url: login.URL, ledger: &ledger{}}, postgrestest.Connect(t, login.URL)
}
