package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

const tables = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"

func TestTheSchemaIsCompleteAndValid(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)

	require.Equal(t, "outbox outbox_failed outbox_paused outbox_redriven outbox_schema", db.text(t, tables))
	require.Equal(t, "1 2 3", db.text(t, "SELECT string_agg(version::text, ' ' ORDER BY version) FROM outbox_schema"))
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM pg_index WHERE NOT (indisvalid AND indisready AND indislive)"))
	for index, definition := range map[string]string{
		"outbox_pkey":      "CREATE UNIQUE INDEX outbox_pkey ON public.outbox USING btree (seq)",
		"outbox_pending":   "CREATE INDEX outbox_pending ON public.outbox USING btree (published_at, seq) WHERE (published_at IS NULL)",
		"outbox_published": "CREATE INDEX outbox_published ON public.outbox USING btree (published_at, seq) WHERE (published_at IS NOT NULL)",
	} {
		require.Equal(t, definition, db.text(t, "SELECT pg_get_indexdef($1::regclass)", index))
	}
	require.Equal(t, 3, db.QueryInt(t, "SELECT count(*) FROM pg_index WHERE indrelid = 'outbox'::regclass"))
}

func TestTheSchemaIsOneTransaction(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	db.Exec(t, "CREATE TABLE outbox_redriven ()") // the last table, of no use as it is: all others can be made
	conn := db.Conn(t)

	_, err := conn.Exec(t.Context(), postgres.Schema(publicOutbox), pgx.QueryExecModeSimpleProtocol)

	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "42703", refused.Code)
	require.NoError(t, conn.Close(t.Context()))
	require.Equal(t, "outbox_redriven", postgrestest.Scalar[string](t, db, tables))
	require.Equal(t, "outbox_redriven", postgrestest.Scalar[string](t, db,
		"SELECT string_agg(relname, ' ') FROM pg_class WHERE relnamespace = 'public'::regnamespace"))
}

func TestTheSchemaAppliesOnlyOnce(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 3)

	_, err := db.Conn(t).Exec(t.Context(), postgres.Schema(publicOutbox), pgx.QueryExecModeSimpleProtocol)

	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "42P07", refused.Code)
	require.Contains(t, refused.Message, `"outbox" already exists`)
	require.Equal(t, 3, db.QueryInt(t, "SELECT count(*) FROM outbox"))
	require.Equal(t, 3, db.QueryInt(t, "SELECT count(*) FROM outbox_schema"))
}

// As in a service where nobody is a superuser.
func TestTheSchemaIsAppliedByTheOwnerOfTheDatabase(t *testing.T) {
	t.Parallel()

	newDatabase(t) // the roles are there, as they are for the second outbox of a server
	db := postgrestest.New(t)
	owner := db.CreateLogin(t)
	db.Exec(t, "ALTER DATABASE "+db.Name+" OWNER TO "+owner.Name)
	t.Cleanup(func() { db.Exec(t, "ALTER DATABASE "+db.Name+" OWNER TO postgres") })

	_, err := postgrestest.Connect(t, owner.URL).Exec(t.Context(), postgres.Schema(publicOutbox), pgx.QueryExecModeSimpleProtocol)

	require.NoError(t, err)
	served := &database{db, db.CreateLogin(t, "outbox_relay")}
	db.Exec(t, "INSERT INTO outbox (event_type, payload) SELECT 'a', '{}' FROM generate_series(1, 4)")
	live(t, served, publicOutbox)
}

func TestAWriterNeedsToGiveTwoColumns(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	writer := postgrestest.Connect(t, db.CreateLogin(t, "outbox_writer").URL)
	_, err := writer.Exec(t.Context(), "INSERT INTO outbox (event_type, payload) VALUES ('a', '{}'), ('b', '{}')")
	require.NoError(t, err)

	events := claim(t, db.session(t), everything).Events

	require.Len(t, events, 2)
	require.EqualValues(t, 1, events[0].Seq)
	require.EqualValues(t, 2, events[1].Seq)
	require.NotEqual(t, events[0].ID, events[1].ID)
	for _, statement := range []string{
		"SELECT FROM outbox", "DELETE FROM outbox", "UPDATE outbox SET published_at = now()",
		"INSERT INTO outbox (event_type, payload, published_at) VALUES ('a', '{}', now())",
	} {
		_, err := writer.Exec(t.Context(), statement)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, statement)
		require.Equal(t, "42501", refused.Code, statement)
	}
}
