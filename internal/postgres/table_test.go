package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
)

// live takes four pending rows, 1 to 4, through all that can become of a row.
func live(t *testing.T, db *database, table postgres.Table) {
	t.Helper()
	liveOf(t, db, table, upTo(4))
}

// liveOf is live for four rows that have other numbers. They are all that is pending.
// The run polls, and is the only one.
func liveOf(t *testing.T, db *database, table postgres.Table, seqs []int64) {
	t.Helper()
	session := openSession(t, db.connect, postgres.StoreConfig{Table: table, Bus: "events"})
	asked := everything
	asked.Turn = outbox.TakeTurn
	batch := claim(t, session, asked)
	require.Equal(t, seqs, seqsOf(batch))
	asked.Turn = outbox.SeeTurn
	next, receipt, err := session.Settle(t.Context(), outbox.Settlement{
		Published: seqs[:1],
		Deferred:  []outbox.Deferral{{Seq: seqs[1], Delay: time.Hour, Reason: "later"}},
		Failed:    []outbox.Failure{{Seq: seqs[2], Code: "never", Message: "no"}},
	}, &asked)
	require.NoError(t, err)
	require.True(t, receipt.Committed)
	require.Equal(t, seqs[3:], seqsOf(next))
	require.Positive(t, batch.Turn)
	require.Equal(t, batch.Turn, next.Turn)
	settle(t, session, outbox.Settlement{})
	require.NoError(t, session.Record(t.Context(), outbox.Settlement{Published: seqs[3:]}))

	name, failed := table.String(), postgres.Table{Schema: table.Schema, Name: table.Name + "_failed"}.String()
	require.Equal(t, []int64{seqs[0], seqs[3]}, db.seqs(t, fmt.Sprintf("SELECT seq FROM %s WHERE published_at IS NOT NULL AND seq >= %d", name, seqs[0])))
	require.Equal(t, seqs[1:2], db.seqs(t, "SELECT seq FROM "+name+" WHERE retry_at > now() AND attempts = 1 AND last_error = 'later'"))
	require.Equal(t, seqs[2:3], db.seqs(t, "SELECT seq FROM "+failed+" WHERE error_code = 'never' AND error_message = 'no'"))
}

func TestServesATableOfAnyName(t *testing.T) {
	t.Parallel()

	db := newDatabaseOf(t, postgres.Schema(publicOutbox))
	db.Exec(t, "DROP TABLE outbox, outbox_failed, outbox_redriven, outbox_paused, outbox_schema; DROP SEQUENCE outbox_turn; CREATE TABLE canary ()")
	for title, table := range map[string]postgres.Table{
		"Plain":           {Schema: "app", Name: "events"},
		"UpperCase":       {Schema: "App", Name: "Outbox"},
		"Spaces":          {Schema: " my schema ", Name: " my outbox "},
		"Quotes":          {Schema: `a"b""c`, Name: `'it''s' "the" outbox"`},
		"Unicode":         {Schema: "Käse🧀", Name: "событие"},
		"Keywords":        {Schema: "select", Name: "table"},
		"Dots":            {Schema: "a.b", Name: "c.d"},
		"Placeholders":    {Schema: "$1", Name: "$2::text %s %I ${x}"},
		"Comments":        {Schema: "-- a", Name: "/* b */ -- c"},
		"Injection":       {Schema: `x"; DROP SCHEMA public CASCADE; --`, Name: `x"; DROP TABLE public.canary; --`},
		"DollarQuotes":    {Schema: "$$", Name: "END $$; DROP TABLE public.canary; DO $$"},
		"Backslashes":     {Schema: `a\`, Name: `b\"`},
		"OurOwnName":      {Schema: "public.outbox", Name: "public.outbox"},
		"OurOwnFailed":    {Schema: "x", Name: "public.outbox_failed"},
		"AnotherSuffix":   {Schema: "x", Name: "outbox_failed"},
		"OurOwnIndex":     {Schema: "SCHEMA public", Name: "INDEX outbox_pending"},
		"InSchemaPublic":  {Schema: "public", Name: "other"},
		"LongestName":     {Schema: strings.Repeat("s", 63), Name: strings.Repeat("n", 49)},
		"LongestByLetter": {Schema: strings.Repeat("ß", 31), Name: strings.Repeat("ü", 24)},
	} {
		db.Exec(t, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{table.Schema}.Sanitize())
		db.Exec(t, postgres.Schema(table))
		db.Exec(t, "INSERT INTO "+table.String()+" (event_type, payload) SELECT 'a', '{}' FROM generate_series(1, 4)")

		live(t, db, table)

		require.Equal(t, "canary", db.text(t, `SELECT string_agg(relname, ' ') FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND NOT starts_with(relname, 'other')`), title)
	}
}

// OUTBOX_TABLE may have such a name: in quotes, any character is one of an
// identifier.
func TestServesATableWithLinesInItsName(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	table := postgres.Table{Schema: "public", Name: "-- c\n\td\r\ne"}
	db.Exec(t, postgres.Schema(table))
	db.Exec(t, "INSERT INTO "+table.String()+" (event_type, payload) SELECT 'a', '{}' FROM generate_series(1, 4)")

	live(t, db, table)
}

// An application's own table: other names and types, and more columns.
const (
	messages = `
	CREATE TABLE messages (
		"Nr" bigserial PRIMARY KEY, uid uuid NOT NULL DEFAULT gen_random_uuid(), kind varchar(50) NOT NULL, body text NOT NULL, meta json,
		"at" timestamptz NOT NULL DEFAULT now(), tries smallint NOT NULL DEFAULT 0, "retryAt" timestamptz, error text, "sentAt" timestamptz,
		tenant int NOT NULL DEFAULT 7
	);
	INSERT INTO messages (kind, body, meta, tenant) VALUES
		('a', '{"b":1,  "a":1e2, "b":2}', '{ "z":1,"a":2 }', 7), ('b', 'no JSON at all', NULL, 7), ('c', '', NULL, 7),
		('d', '{}', NULL, 7), ('other tenant', '{}', NULL, 8);`

	messagesView = `
	CREATE VIEW outbox AS SELECT "Nr" AS seq, uid AS id, NULL::text AS aggregate_type, NULL::text AS aggregate_id, kind AS event_type,
		body AS payload, meta AS headers, 'shop'::text AS source, NULL::text AS topic, "at" AS created_at, NULL::timestamptz AS deliver_after,
		"retryAt" AS retry_at, tries AS attempts, error AS last_error, "sentAt" AS published_at FROM messages WHERE tenant = 7;`
)

// ownTable is such a table with companions made by hand. The failed table takes
// what its payload holds, also what is no JSON.
const ownTable = messages + messagesView + `
	CREATE TABLE outbox_failed (LIKE outbox, failed_at timestamptz, error_code text, error_message text, times_failed int);
	CREATE TABLE outbox_redriven (seq bigint, id uuid, attempts int, failed_at timestamptz, error_code text, error_message text, times_failed int,
		redriven_at timestamptz DEFAULT now(), UNIQUE (seq, times_failed));
	CREATE TABLE outbox_paused (topic text UNIQUE, reason text, since timestamptz DEFAULT now());
	CREATE SEQUENCE outbox_turn;
	DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'outbox_relay') THEN CREATE ROLE outbox_relay; END IF; END $$;
	GRANT SELECT, DELETE ON outbox TO outbox_relay;
	GRANT UPDATE (retry_at, attempts, last_error, published_at) ON outbox TO outbox_relay;
	GRANT INSERT, SELECT (seq) ON outbox_failed TO outbox_relay;
	GRANT SELECT ON outbox_paused, outbox_redriven TO outbox_relay;
	GRANT USAGE, SELECT ON SEQUENCE outbox_turn TO outbox_relay;`

func TestServesAViewOfAnApplicationsOwnTable(t *testing.T) {
	t.Parallel()

	db := newDatabaseOf(t, ownTable)
	session := db.session(t)

	events := claim(t, session, everything).Events
	require.Len(t, events, 4)
	require.Equal(t, `{"b":1,  "a":1e2, "b":2}`, events[0].Payload)
	require.Equal(t, `{ "z":1,"a":2 }`, events[0].Headers)
	require.Equal(t, "shop", events[0].Source)
	require.Equal(t, "no JSON at all", events[1].Payload)
	require.Empty(t, events[2].Payload)
	require.Equal(t, "c", events[2].Type)
	settle(t, session, outbox.Settlement{})
	session.Close(t.Context())
	db.waitForNobody(t)

	live(t, db, publicOutbox)
	require.Equal(t, []int64{1, 2, 4, 5}, db.seqs(t, `SELECT "Nr" FROM messages`))
	require.Equal(t, 1, db.QueryInt(t, `SELECT count(*) FROM messages WHERE tenant = 8 AND "sentAt" IS NULL`))
}

// The usual tables, but for the outbox, which has a partition for each month.
var partitioned = postgres.Schema(publicOutbox) + `
	CREATE SEQUENCE numbers;
	CREATE TABLE partitioned (LIKE outbox INCLUDING DEFAULTS, PRIMARY KEY (seq, created_at)) PARTITION BY RANGE (created_at);
	ALTER TABLE partitioned ALTER COLUMN seq SET DEFAULT nextval('numbers');
	DROP TABLE outbox;
	ALTER TABLE partitioned RENAME TO outbox;
	CREATE TABLE outbox_1 PARTITION OF outbox FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
	CREATE TABLE outbox_2 PARTITION OF outbox FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
	CREATE TABLE outbox_3 PARTITION OF outbox DEFAULT;
	CREATE INDEX outbox_pending ON outbox (published_at, seq) WHERE published_at IS NULL;
	GRANT SELECT, DELETE ON public.outbox TO outbox_relay;
	GRANT UPDATE (retry_at, attempts, last_error, published_at) ON public.outbox TO outbox_relay;`

// The order is that of seq, whatever partition a row is in.
func TestServesAPartitionedTable(t *testing.T) {
	t.Parallel()

	db := newDatabaseOf(t, partitioned)
	db.Exec(t, `INSERT INTO outbox (event_type, payload, created_at)
		SELECT 'a', '{}', at FROM unnest('{2024-02-05,2024-01-05,2025-07-07,2024-01-06}'::timestamptz[]) AS at`)

	live(t, db, publicOutbox)

	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox_2"))
	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox_failed WHERE created_at = '2025-07-07'"))
}
