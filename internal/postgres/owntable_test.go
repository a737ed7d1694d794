package postgres_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
)

// The headings of docs/own-tables.md under which there is SQL.
const (
	tableAsItIs   = "The table as it is"
	addColumns    = "Add what the relay writes"
	numberAtOnce  = "Number the rows while nobody needs them"
	numberInSteps = "Number the rows while the application writes"
	addIndexes    = "Add the indexes"
	createView    = "Create the view"
	companions    = "Create the tables beside it"
	grantRights   = "Grant the rights"
	takeOver      = "Let the relay take over"
	replaceTable  = "Replace the table"
	addDay        = "Add a day ahead"
	dropDay       = "Drop a day"
)

func TestAllOfTheDocumentsStatementsAreTested(t *testing.T) {
	t.Parallel()

	var headings []string
	for heading, blocks := range readDocument(t) {
		if len(blocks["sql"]) > 0 {
			headings = append(headings, heading)
		}
		for language := range blocks {
			require.Contains(t, []string{"sql", "sh"}, language, heading)
		}
	}
	require.ElementsMatch(t, []string{
		"Own tables", tableAsItIs, addColumns, numberAtOnce, numberInSteps, addIndexes, createView, companions, takeOver,
		replaceTable, addDay, dropDay,
	}, headings)
}

// emptyDatabase has the roles, but no tables.
func emptyDatabase(t *testing.T) *database {
	t.Helper()
	return newDatabaseOf(t, postgres.Schema(publicOutbox)+
		"DROP TABLE outbox, outbox_failed, outbox_redriven, outbox_paused, outbox_schema; DROP SEQUENCE outbox_turn")
}

// write adds events as the application of the document does. They are an hour
// apart, and older than all that have the time by default.
func write(t *testing.T, db *database, sent bool, bodies ...string) {
	t.Helper()
	db.Exec(t, `INSERT INTO domain_events (name, subject, body, sent, logged_at)
		SELECT 'order.placed', body, body, $1, timestamp '2024-01-01' + (SELECT count(*) FROM domain_events) * interval '1 hour'
		FROM unnest($2::text[]) AS body`, sent, bodies)
}

// viewOfOwnTable follows the document up to the point where the relay takes over.
// The application has sent three events, has not sent three others, and writes a
// seventh meanwhile.
func viewOfOwnTable(t *testing.T, number string) (*database, *pgx.Conn, document) {
	t.Helper()
	db, document := emptyDatabase(t), readDocument(t)
	conn := db.Conn(t)
	document.run(t, conn, "Own tables", tableAsItIs)
	for _, body := range []string{"1", "2", "3"} {
		write(t, db, true, body)
	}
	for _, body := range []string{`{"b":1,  "a":1e2}`, "{}", "no JSON at all"} {
		write(t, db, false, body)
	}
	document.run(t, conn, addColumns, number)
	write(t, db, false, `{"late":true}`)
	document.run(t, conn, addIndexes, createView, companions)
	db.Exec(t, document.grants(t, grantRights))
	return db, conn, document
}

func TestAnOwnTableIsServedAsTheDocumentHasIt(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		number string
		late   int64
	}{
		"NumberedAtOnce":  {numberAtOnce, 7},
		"NumberedInSteps": {numberInSteps, 1_000_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db, conn, document := viewOfOwnTable(t, test.number)
			require.Empty(t, db.claimSeqs(t, everything), "the poller still sends")
			document.run(t, conn, takeOver)

			session := db.session(t)
			events := claim(t, session, everything).Events
			settle(t, session, outbox.Settlement{})
			session.Close(t.Context())
			require.Len(t, events, 4)
			require.Equal(t, `{"b":1,  "a":1e2}`, events[0].Payload)
			require.Equal(t, db.text(t, "SELECT event_id FROM domain_events WHERE seq = 4"), events[0].ID)
			require.Equal(t, "2024-01-01T03:00:00Z", events[0].CreatedAt.Format("2006-01-02T15:04:05Z07:00"))
			require.Equal(t, "shop", events[0].Source)
			require.Equal(t, "events", events[0].Bus)
			require.Equal(t, "order.placed", events[0].Type)
			require.Equal(t, "{}", events[1].AggregateID)
			require.Equal(t, "no JSON at all", events[2].Payload)
			requirePendingIndexes(t, db, 1)

			liveOf(t, db, publicOutbox, []int64{4, 5, 6, test.late})

			require.Equal(t, "no JSON at all", db.text(t, "SELECT payload FROM outbox_failed"))
			require.Equal(t, []int64{1, 2, 3, 4, 5, test.late}, db.seqs(t, "SELECT seq FROM domain_events"))
			requireLookedAfter(t, db, 6, 5)
			write(t, db, false, "{}")
			require.Equal(t, []int64{6, test.late + 1}, db.claimSeqs(t, everything))
		})
	}
}

// requireLookedAfter has the other functions serve what live has left: one event
// that is deferred, one that has failed, and all others published.
func requireLookedAfter(t *testing.T, db *database, failed int64, published int) {
	t.Helper()
	measured := db.as(t, "outbox_lag").measure(t)
	require.Equal(t, []int{1, 1}, []int{measured.Unpublished, measured.Failed})

	requireRedriven(t, db.admin(t), all, failed)
	require.Equal(t, 2, db.as(t, "outbox_lag").measure(t).Unpublished)

	report, err := db.as(t, "outbox_cleanup").clean(t, outbox.CleanerConfig{BatchSize: 3})
	require.NoError(t, err)
	requireReport(t, outbox.CleanupReport{Deleted: published, Batches: published/3 + 1, Stopped: outbox.Done}, report)

	migrated, err := postgres.NewMigrator(db.Connect, postgres.MigrateConfig{Table: publicOutbox}, slog.New(slog.DiscardHandler)).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, postgres.Migrated{From: 3, To: 3}, migrated, "nothing is missing")
}

// oldEvents is the table of the document with many events, which do not lie in it
// in the order in which they were written.
func oldEvents(t *testing.T) (*database, *pgx.Conn, document) {
	t.Helper()
	db, document := emptyDatabase(t), readDocument(t)
	conn := db.Conn(t)
	document.run(t, conn, tableAsItIs)
	db.Exec(t, `INSERT INTO domain_events (name, subject, body, logged_at)
		SELECT 'a', n, '{}', timestamp '2024-01-01' + ((n * 7919) % 12000) * interval '1 second' FROM generate_series(0, 11999) AS n`)
	return db, conn, document
}

func requireNumbersInOrder(t *testing.T, db *database) {
	t.Helper()
	require.Zero(t, db.QueryInt(t, `SELECT count(*)
		FROM (SELECT seq, row_number() OVER (ORDER BY logged_at) AS nth FROM domain_events) AS e WHERE seq IS DISTINCT FROM nth`))
}

func TestNumberingInStepsDoesNotRewriteTheTable(t *testing.T) {
	t.Parallel()

	const file = "SELECT pg_relation_filenode('domain_events')"
	db, conn, document := oldEvents(t)
	before := db.text(t, file)

	document.run(t, conn, addColumns, numberInSteps, addIndexes)

	require.Equal(t, before, db.text(t, file))
	requireNumbersInOrder(t, db)
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM pg_index WHERE NOT indisvalid"))
	require.Equal(t, "true", db.text(t, "SELECT attnotnull FROM pg_attribute WHERE attrelid = 'domain_events'::regclass AND attname = 'seq'"))
	db.Exec(t, "ALTER TABLE domain_events DROP COLUMN seq")
	document.run(t, conn, numberAtOnce)
	require.NotEqual(t, before, db.text(t, file))
}

func TestNumberingInStepsGoesOnWhereItBrokeOff(t *testing.T) {
	t.Parallel()

	db, conn, document := oldEvents(t)
	statements := document.statements(t, numberInSteps)
	number := slices.IndexFunc(statements, func(statement string) bool { return strings.HasPrefix(statement, "DO") })
	for _, statement := range statements[:number] {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	db.Exec(t, `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken off'; END $$;
		CREATE TRIGGER fail BEFORE UPDATE ON domain_events FOR EACH ROW WHEN (new.seq = 7000) EXECUTE FUNCTION fail()`)
	_, err := conn.Exec(t.Context(), statements[number])
	require.ErrorContains(t, err, "broken off")
	require.Equal(t, 5000, db.QueryInt(t, "SELECT count(seq) FROM domain_events"))
	db.Exec(t, "DROP TRIGGER fail ON domain_events")

	_, err = conn.Exec(t.Context(), statements[number])

	require.NoError(t, err)
	requireNumbersInOrder(t, db)
}

const (
	// rights are what the roles may do.
	rights = `SELECT string_agg(concat_ws(' ', grantee, privilege_type, table_name, column_name), ', '
			ORDER BY grantee, privilege_type, table_name, column_name)
		FROM information_schema.column_privileges WHERE starts_with(grantee, 'outbox_') AND table_schema = 'public'`
	// storage are the parameters of a table, $1.
	storage = `SELECT array_agg(o ORDER BY o) FROM pg_class AS c LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid,
			unnest(c.reloptions || t.reloptions) AS o
		WHERE c.oid = $1::regclass`
)

// The tables beside the view are those of make schema, but for the types of
// what is copied.
func TestTheCompanionsOfTheDocumentAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()

	db, _, _ := viewOfOwnTable(t, numberAtOnce)
	schema := newDatabase(t)
	for what, query := range map[string]string{
		"columns": `SELECT string_agg(table_name || '.' || column_name, ' ' ORDER BY table_name, column_name)
			FROM information_schema.columns WHERE table_schema = 'public' AND starts_with(table_name, 'outbox')`,
		"types and nulls": `SELECT string_agg(concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default), ', ' ORDER BY table_name, column_name)
			FROM information_schema.columns WHERE table_schema = 'public' AND starts_with(table_name, 'outbox_')
			AND (table_name <> 'outbox_failed' OR column_name IN ('seq', 'failed_at', 'error_code', 'error_message', 'times_failed'))`,
		"indexes": `SELECT string_agg(pg_get_indexdef(indexrelid), ', ' ORDER BY indexrelid::regclass::text)
			FROM pg_index WHERE starts_with(indrelid::regclass::text, 'outbox_')`,
		"versions": "SELECT string_agg(version::text, ' ' ORDER BY version) FROM outbox_schema",
		"rights":   rights,
	} {
		require.Equal(t, schema.text(t, query), db.text(t, query), what)
	}
	require.Equal(t, schema.text(t, storage, "outbox"), db.text(t, storage, "domain_events"))
	require.Equal(t, "NULL", db.text(t, "SELECT string_agg(relacl::text, '') FROM pg_class WHERE relname = 'domain_events'"))
}

// The document's query warns of the views that it says do not work. Those
// that can be claimed from would be published again and again.
func TestTheDocumentTellsAViewThatDoesNotWork(t *testing.T) {
	t.Parallel()

	db, _, document := viewOfOwnTable(t, numberAtOnce)
	statements := document.statements(t, createView)
	require.Len(t, statements, 2)
	create := func(old, replacement string) string {
		require.Contains(t, statements[0], old)
		return strings.Replace(statements[0], old, replacement, 1)
	}
	query := "SELECT coalesce(array_agg(attname), '{}')::text FROM (" + strings.TrimSuffix(statements[1], ";\n") + ") AS q"
	const all = "{seq,id,event_type,payload,retry_at,attempts,last_error,published_at}"
	db.Exec(t, "CREATE TABLE copy (LIKE outbox)")
	for name, test := range map[string]struct{ create, found string }{
		"AsItIs":     {statements[0], "{}"},
		"Where":      {create("domain_events", "domain_events WHERE name <> 'b'"), "{}"},
		"Distinct":   {create("SELECT", "SELECT DISTINCT"), all},
		"Join":       {create("domain_events", "domain_events JOIN outbox_schema ON version = 1"), all},
		"GroupBy":    {create("domain_events", "domain_events GROUP BY event_id"), all},
		"Limit":      {create("domain_events", "domain_events LIMIT 5"), all},
		"Union":      {create("domain_events;", "domain_events UNION ALL SELECT * FROM copy;"), all},
		"Window":     {create("seq,", "row_number() OVER () AS seq,"), all},
		"Trigger":    {create("SELECT", "SELECT DISTINCT") + insteadOf, all},
		"Constant":   {create("       attempts", "       0 AS attempts"), "{attempts}"},
		"Expression": {create("body AS", "lower(body) AS"), "{payload}"},
	} {
		db.Exec(t, "DROP VIEW outbox;"+test.create)
		require.Equal(t, test.found, db.text(t, query), name)
	}
}

// insteadOf passes over what it is told.
const insteadOf = `
	CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;
	CREATE TRIGGER pass INSTEAD OF UPDATE OR DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION pass()`

// partitionedByDay follows the document. There are the days 2 and 3 of a month.
func partitionedByDay(t *testing.T) (*database, *pgx.Conn, document) {
	t.Helper()
	db, document := newDatabase(t), readDocument(t)
	conn := db.Conn(t)
	document.run(t, conn, "Own tables", replaceTable)
	db.Exec(t, document.grants(t, grantRights))
	document.run(t, conn, addDay)
	next := strings.NewReplacer("12_02", "12_03", "12-02", "12-03", "12-03", "12-04")
	for _, statement := range document.statements(t, addDay) {
		_, err := conn.Exec(t.Context(), next.Replace(statement))
		require.NoError(t, err)
	}
	return db, conn, document
}

func (d *database) pendingAt(t *testing.T, times string) {
	t.Helper()
	d.Exec(t, "INSERT INTO outbox (event_type, payload, created_at) SELECT 'a', '{}', at FROM unnest($1::timestamptz[]) AS at", times)
}

func TestAPartitionedTableIsServedAsTheDocumentHasIt(t *testing.T) {
	t.Parallel()

	db, _, _ := partitionedByDay(t)
	db.pendingAt(t, "{2026-12-03 01:00+00, 2026-12-02 23:59+00, 2025-07-07, 2026-12-03 02:00+00}")

	requirePendingIndexes(t, db, 3)
	live(t, db, publicOutbox)

	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox_2026_12_02"))
	require.Equal(t, 2, db.QueryInt(t, "SELECT count(*) FROM outbox_2026_12_03"))
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox_default"), "it has failed")
	schema := newDatabase(t)
	require.Equal(t, schema.text(t, storage, "outbox"), db.text(t, storage, "outbox_2026_12_02"))
	require.Equal(t, schema.text(t, rights), db.text(t, rights))
	require.Equal(t, 3*3, db.QueryInt(t, `SELECT count(*) FROM pg_inherits AS p JOIN pg_index ON indrelid = p.inhrelid
		WHERE p.inhparent = 'outbox'::regclass AND EXISTS (SELECT FROM pg_inherits AS i WHERE i.inhrelid = indexrelid)`))
	requireLookedAfter(t, db, 3, 2)
	require.Equal(t, []int64{3}, db.claimSeqs(t, everything))
	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox_default"), "it was moved back")
}

// A day is attached while events of other days are being written, and nobody
// waits for that. Those of no day do.
func TestADayIsAddedWhileTheApplicationWrites(t *testing.T) {
	t.Parallel()

	db, conn, document := partitionedByDay(t)
	next := strings.NewReplacer("12_02", "12_04", "12-02", "12-04", "12-03", "12-05")
	const insert = "INSERT INTO outbox (event_type, payload, created_at) VALUES ('a', '{}', $1::timestamptz)"
	writer := db.Conn(t)
	_, err := writer.Exec(t.Context(), "BEGIN")
	require.NoError(t, err)
	_, err = writer.Exec(t.Context(), insert, "2026-12-03 00:00+00")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "BEGIN")
	require.NoError(t, err)

	for _, statement := range document.statements(t, addDay) {
		_, err := conn.Exec(t.Context(), next.Replace(statement))
		require.NoError(t, err)
	}

	for at, waits := range map[string]bool{"2026-12-03 00:00+00": false, "2025-01-01 00:00+00": true} {
		other := db.Conn(t)
		_, err := other.Exec(t.Context(), "SET lock_timeout = '300ms'")
		require.NoError(t, err)
		_, err = other.Exec(t.Context(), insert, at)
		if waits {
			requireLockTimeout(t, err)
			continue
		}
		require.NoError(t, err)
	}
	_, err = conn.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
}

func requireLockTimeout(t *testing.T, err error) {
	t.Helper()
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "55P03", refused.Code)
}

func TestADayIsDroppedOnceNothingOfItIsPending(t *testing.T) {
	t.Parallel()

	db, conn, document := partitionedByDay(t)
	db.pendingAt(t, "{2026-12-02 01:00+00, 2026-12-03 01:00+00}")
	drop := document.statements(t, dropDay)
	require.Len(t, drop, 1)
	_, err := conn.Exec(t.Context(), drop[0])
	require.ErrorContains(t, err, "outbox_2026_12_02 has pending events")
	session := db.session(t)
	_ = claim(t, session, everything)
	_, err = conn.Exec(t.Context(), drop[0])
	requireLockTimeout(t, err)
	settle(t, session, outbox.Settlement{Published: upTo(1)})

	document.run(t, conn, dropDay)

	require.Equal(t, "outbox_2026_12_03 outbox_default", db.text(t, `SELECT string_agg(inhrelid::regclass::text, ' ' ORDER BY inhrelid::regclass::text)
		FROM pg_inherits WHERE inhparent = 'outbox'::regclass`))
	require.Equal(t, []int64{2}, db.claimSeqs(t, everything))
	db.pendingAt(t, "{2026-12-02 01:00+00}")
	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox_default"))
}
