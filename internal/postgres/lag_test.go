package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// limit is where the counts stop in these tests.
const limit = 5

// fromFront is a measurement of all rows.
var fromFront = outbox.LagScan{After: front, Limit: time.Minute}

func newLagDatabase(t *testing.T) *database {
	t.Helper()
	return newDatabaseAs(t, "outbox_lag", postgres.Schema(publicOutbox))
}

// lagStore measures public.outbox, and "events" is the bus of rows without one.
func (d *database) lagStore() *postgres.LagStore { return d.lagStoreOver(d.connect) }

func (d *database) lagStoreOver(connect func(context.Context) (*pgx.Conn, error)) *postgres.LagStore {
	return postgres.NewLagStore(connect, postgres.LagConfig{Table: publicOutbox, Bus: "events", CountLimit: limit})
}

func (d *database) measure(t *testing.T) outbox.Measurement {
	t.Helper()
	return d.measureFrom(t, fromFront)
}

func (d *database) measureFrom(t *testing.T, scan outbox.LagScan) outbox.Measurement {
	t.Helper()
	measured, err := d.lagStore().Measure(t.Context(), scan)
	require.NoError(t, err)
	return measured
}

// insert writes pending rows of an age, the first of which gets a seq.
func (d *database) insert(t *testing.T, seq, n int, age, topic string) {
	t.Helper()
	d.Exec(t, `INSERT INTO outbox (seq, event_type, payload, created_at, topic)
		SELECT n, 'order.placed', '{}', now() - $3::text::interval, $4::text FROM generate_series($1::int, $1::int + $2::int - 1) AS n`, seq, n, age, topic)
}

// requireAge says that an age is what it was some moments ago.
func requireAge(t *testing.T, least, age time.Duration) {
	t.Helper()
	require.GreaterOrEqual(t, age, least)
	require.Less(t, age, least+5*time.Minute)
}

func TestAnEmptyOutboxHasNoLag(t *testing.T) {
	t.Parallel()

	measured := newLagDatabase(t).measure(t)

	require.Positive(t, measured.Took)
	measured.Took = 0
	require.Equal(t, outbox.Measurement{First: math.MaxInt64, Greatest: front}, measured)
}

func TestCountsWhatIsLagAndHowOldItIs(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		change      string
		unpublished int
		oldest      time.Duration
	}{
		"TwoRows":                    {"", 2, 2 * time.Hour},
		"Published":                  {"UPDATE outbox SET published_at = now() WHERE seq = 1", 1, time.Hour},
		"FailedOnce":                 {"UPDATE outbox SET attempts = 1, retry_at = now() + interval '1 hour', last_error = 'e'", 2, 2 * time.Hour},
		"NotYetDue":                  {"UPDATE outbox SET deliver_after = now() + interval '1 hour' WHERE seq = 1", 1, time.Hour},
		"NeverDue":                   {"UPDATE outbox SET deliver_after = 'infinity' WHERE seq = 1", 1, time.Hour},
		"DueLately":                  {"UPDATE outbox SET deliver_after = now() - interval '30 minutes'", 2, 30 * time.Minute},
		"DueBeforeItWasWritten":      {"UPDATE outbox SET deliver_after = now() - interval '1 day'", 2, 2 * time.Hour},
		"DueForEver":                 {"UPDATE outbox SET deliver_after = '-infinity'", 2, 2 * time.Hour},
		"FromTheFuture":              {"UPDATE outbox SET created_at = now() + interval '1 day'", 2, 0},
		"AsOldAsCanBe":               {"UPDATE outbox SET created_at = '4713-01-01 BC' WHERE seq = 2", 2, math.MaxInt64},
		"OneOfNoTime":                {"UPDATE outbox SET created_at = '-infinity' WHERE seq = 1", 2, time.Hour},
		"OneOfNoTimeYet":             {"UPDATE outbox SET created_at = 'infinity' WHERE seq = 1", 2, time.Hour},
		"OneWithoutTime":             {"ALTER TABLE outbox ALTER created_at DROP NOT NULL; UPDATE outbox SET created_at = NULL WHERE seq = 1", 2, time.Hour},
		"OneWithoutTimeThatWasDue":   {"ALTER TABLE outbox ALTER created_at DROP NOT NULL; UPDATE outbox SET created_at = NULL, deliver_after = now() - interval '3 hours'", 2, 3 * time.Hour},
		"NoneWithATime":              {"UPDATE outbox SET created_at = 'infinity'", 2, 0},
		"BehindManyOfAPausedBus":     {"INSERT INTO outbox_paused VALUES ('orders'); INSERT INTO outbox (seq, event_type, payload, topic) SELECT -n, 'a', '{}', 'orders' FROM generate_series(1, 50) AS n", 2, 2 * time.Hour},
		"BehindManyThatAreNotYetDue": {"INSERT INTO outbox (seq, event_type, payload, deliver_after) SELECT -n, 'a', '{}', now() + interval '1 day' FROM generate_series(1, 50) AS n", 2, 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newLagDatabase(t)
			db.insert(t, 1, 1, "2 hours", "")
			db.insert(t, 2, 1, "1 hour", "")
			db.Exec(t, test.change)

			lag := db.measure(t).Lag

			require.Equal(t, test.unpublished, lag.Unpublished)
			require.False(t, lag.UnpublishedIsLowerBound)
			if test.oldest == math.MaxInt64 {
				require.Equal(t, test.oldest, lag.OldestUnpublishedAge)
				return
			}
			requireAge(t, test.oldest, lag.OldestUnpublishedAge)
		})
	}
}

func TestCountsStopAtTheirLimit(t *testing.T) {
	t.Parallel()

	for rows, bound := range map[int]bool{limit: false, limit + 1: true, 10 * limit: true} {
		db := newLagDatabase(t)
		db.insert(t, 1, limit-1, "1 hour", "")
		db.insert(t, limit, 1, "2 hours", "")
		db.insert(t, limit+1, rows-limit, "1 day", "")
		db.insert(t, -1000, rows, "1 day", "paused")
		db.Exec(t, "INSERT INTO outbox_paused VALUES ('paused')")
		db.Exec(t, "INSERT INTO outbox_failed (seq, error_code, error_message) SELECT n, '', '' FROM generate_series(1, $1::int) AS n", rows)

		lag := db.measure(t).Lag

		require.Equal(t, limit, lag.Unpublished)
		require.Equal(t, bound, lag.UnpublishedIsLowerBound)
		require.Equal(t, limit, lag.Paused)
		require.Equal(t, limit, lag.Failed)
		requireAge(t, 2*time.Hour, lag.OldestUnpublishedAge)
	}
}

// They may be few among millions that flow, and are not walked to.
func TestLooksForPausedRowsAmongTheFirstThatAreDue(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.Exec(t, "INSERT INTO outbox_paused VALUES ('paused')")
	db.insert(t, 1, 2*limit-1, "1 hour", "")
	db.insert(t, 101, 3, "1 hour", "paused")
	require.Equal(t, 1, db.measure(t).Paused)

	db.Exec(t, "UPDATE outbox SET deliver_after = now() + interval '1 hour' WHERE seq <= 2")
	require.Equal(t, 3, db.measure(t).Paused, "what is not due does not count")
}

// What the claim leaves to a paused bus is counted as paused, all else as lag.
func TestCountsApartWhatTheClaimLeavesToPausedBuses(t *testing.T) {
	t.Parallel()

	for name, paused := range map[string][]string{
		"None":              nil,
		"One":               {"orders"},
		"Two":               {"orders", "mails"},
		"AnotherOne":        {"another"},
		"TheDefaultOne":     {"events"},
		"OfOtherCase":       {"Orders"},
		"NoName":            {""},
		"AnARN":             {"arn:aws:events:eu-central-1:123456789012:event-bus/orders"},
		"All":               {"*"},
		"AllAndOne":         {"*", "orders"},
		"WhatLooksLikeMany": {"order*", "%"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newLagDatabase(t)
			for i, topic := range []string{"orders", "mails", "events", ""} {
				db.insert(t, i+1, 1, "1 hour", topic)
			}
			db.Exec(t, "INSERT INTO outbox (seq, event_type, payload) VALUES (11, 'a', '{}')")
			db.Exec(t, "INSERT INTO outbox (seq, event_type, payload, topic, deliver_after) VALUES (12, 'a', '{}', 'orders', now() + interval '1 hour')")
			db.Exec(t, "INSERT INTO outbox_paused (topic) SELECT unnest($1::text[])", paused)
			relay := &database{db.Database, db.CreateLogin(t, "outbox_relay")}
			claimed := len(relay.claimSeqs(t, everything))

			lag := db.measure(t).Lag

			require.Equal(t, claimed, lag.Unpublished)
			require.Equal(t, 5-claimed, lag.Paused)
		})
	}
}

func TestAllRowsOfPausedBusesAreNoLag(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.insert(t, 1, 3, "1 hour", "")
	db.Exec(t, "INSERT INTO outbox_paused (topic) VALUES ('*')")

	measured := db.measure(t)

	require.Equal(t, outbox.Lag{Paused: 3, OldestTransactionAge: measured.OldestTransactionAge}, measured.Lag)
	require.EqualValues(t, 1, measured.First, "they are pending all the same")
}

func TestFindsTheRowThatWasPublishedFirst(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.insert(t, 1, 4, "1 day", "")
	for seq, at := range map[int]string{1: "1 hour", 2: "3 hours", 3: "2 hours"} {
		db.Exec(t, "UPDATE outbox SET published_at = now() - $2::text::interval WHERE seq = $1", seq, at)
	}

	measured := db.measure(t)
	requireAge(t, 3*time.Hour, measured.OldestPublishedAge)
	require.Equal(t, measured.OldestPublished.Format(time.RFC3339Nano), postgrestest.Scalar[time.Time](t, db.Database,
		"SELECT published_at FROM outbox WHERE seq = 2").UTC().Format(time.RFC3339Nano))

	scan := fromFront
	scan.PublishedSince = measured.OldestPublished
	require.Equal(t, measured.OldestPublished, db.measureFrom(t, scan).OldestPublished, "the row itself is looked at again")
	scan.PublishedSince = measured.OldestPublished.Add(time.Microsecond)
	requireAge(t, 2*time.Hour, db.measureFrom(t, scan).OldestPublishedAge)

	db.Exec(t, "UPDATE outbox SET published_at = '-infinity' WHERE seq = 3")
	requireAge(t, 3*time.Hour, db.measure(t).OldestPublishedAge)
	db.Exec(t, "UPDATE outbox SET published_at = 'infinity' WHERE seq < 4")
	require.Zero(t, db.measure(t).OldestPublishedAge)
}

func TestSaysWhereTheNextMeasurementCanStart(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.insert(t, 1, 9, "1 hour", "")
	db.Exec(t, "UPDATE outbox SET published_at = now() WHERE seq <= 6")
	db.Exec(t, "UPDATE outbox SET deliver_after = 'infinity' WHERE seq = 7")

	measured := db.measure(t)
	require.Equal(t, []int64{7, 9}, []int64{measured.First, measured.Greatest}, "what is not due now will be")

	scan := fromFront
	scan.After = 8
	measured = db.measureFrom(t, scan)
	require.Equal(t, 1, measured.Unpublished)
	require.Equal(t, []int64{9, 9}, []int64{measured.First, measured.Greatest})

	scan.After = 9
	measured = db.measureFrom(t, scan)
	require.Zero(t, measured.Unpublished)
	require.Equal(t, []int64{math.MaxInt64, 9}, []int64{measured.First, measured.Greatest})
}

func (d *database) requireDeadRows(t *testing.T, number int64) {
	t.Helper()
	var counted int64
	require.Eventually(t, func() bool { // a session hands in its counts when it ends
		measured, err := d.lagStore().Measure(t.Context(), fromFront)
		counted = measured.DeadRows
		return err == nil && counted == number
	}, patience, 10*tick, "%d", counted)
}

func TestAddsUpTheDeadRowsOfAllTablesBeneath(t *testing.T) {
	t.Parallel()

	const rows = "INSERT INTO %s (event_type, payload, created_at) SELECT 'a', '{}', '%s' FROM generate_series(1, %d)"
	for name, test := range map[string]struct {
		script string
		number int64
	}{
		"ATable": {
			withoutVacuum + fmt.Sprintf(rows, "outbox", "2024-01-05", 3) + "; DELETE FROM outbox", 3,
		},
		"Partitions": {
			`ALTER TABLE outbox RENAME TO old;
			CREATE TABLE outbox (LIKE old INCLUDING DEFAULTS) PARTITION BY RANGE (created_at);
			ALTER TABLE outbox ALTER seq SET DEFAULT 1;
			CREATE TABLE outbox_1 PARTITION OF outbox FOR VALUES FROM ('2024-01-01') TO ('2024-02-01') WITH (autovacuum_enabled = off);
			CREATE TABLE outbox_2 PARTITION OF outbox DEFAULT PARTITION BY LIST (event_type);
			CREATE TABLE outbox_3 PARTITION OF outbox_2 DEFAULT WITH (autovacuum_enabled = off);
			GRANT SELECT ON outbox TO outbox_lag;` +
				fmt.Sprintf(rows, "outbox", "2024-01-05", 3) + ";" + fmt.Sprintf(rows, "outbox", "2024-02-05", 4) + "; DELETE FROM outbox", 7,
		},
		"AViewOfAView": {
			withoutVacuum + `ALTER TABLE outbox RENAME TO rows;
			CREATE VIEW middle AS SELECT * FROM rows;
			CREATE VIEW outbox AS SELECT * FROM middle;
			GRANT SELECT ON outbox TO outbox_lag;` +
				fmt.Sprintf(rows, "rows", "2024-01-05", 3) + "; DELETE FROM rows", 3,
		},
		"AViewOfPartitionsAndATable": {
			`ALTER TABLE outbox RENAME TO old;
			CREATE TABLE rows (LIKE old INCLUDING DEFAULTS) PARTITION BY RANGE (created_at);
			ALTER TABLE rows ALTER seq SET DEFAULT 1;
			CREATE TABLE rows_1 PARTITION OF rows DEFAULT WITH (autovacuum_enabled = off);
			CREATE TABLE tenants (id int) WITH (autovacuum_enabled = off);
			CREATE VIEW outbox AS SELECT * FROM rows WHERE EXISTS (SELECT FROM tenants WHERE id = 7);
			GRANT SELECT ON outbox TO outbox_lag;
			INSERT INTO tenants VALUES (7), (8); DELETE FROM tenants WHERE id = 8;` +
				fmt.Sprintf(rows, "rows", "2024-01-05", 3) + "; DELETE FROM rows", 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newLagDatabase(t)
			conn := db.Conn(t) // deletes what it sees: in a transaction of its own
			_, err := conn.Exec(t.Context(), test.script, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			require.NoError(t, conn.Close(t.Context()))

			db.requireDeadRows(t, test.number)
		})
	}
}

// open begins a transaction that does no more than a session in it can.
func open(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	_, err := conn.Exec(t.Context(), "BEGIN; SELECT FROM pg_class LIMIT 1", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
}

func TestFindsTheOldestTransactionOfOthers(t *testing.T) {
	t.Parallel()

	db, elsewhere := newLagDatabase(t), newLagDatabase(t)
	open(t, elsewhere.Conn(t))
	require.Zero(t, db.measure(t).OldestTransactionAge)
	first := postgrestest.Connect(t, db.CreateLogin(t).URL) // another user's
	open(t, first)
	began := db.clock(t)
	second := db.Conn(t)
	open(t, second)

	before := db.clock(t)
	measured := db.measure(t)
	require.GreaterOrEqual(t, measured.OldestTransactionAge, before.Sub(began))
	require.Empty(t, measured.Unseen)

	_, err := first.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	measured = db.measure(t)
	require.Positive(t, measured.OldestTransactionAge)
	require.Less(t, measured.OldestTransactionAge, db.clock(t).Sub(began))
	_, err = second.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	require.Zero(t, db.measure(t).OldestTransactionAge)
}

func newLagDatabaseOn(t *testing.T, settings map[string]string) *database {
	t.Helper()
	db := newDatabaseOn(t, postgrestest.NewServer(t, postgrestest.Options{Settings: settings}))
	db.login = db.CreateLogin(t, "outbox_lag")
	return db
}

func TestAPreparedTransactionIsOne(t *testing.T) {
	t.Parallel()

	db := newLagDatabaseOn(t, map[string]string{"max_prepared_transactions": "2"})
	prepare := func(db *database, name string) {
		db.Exec(t, "BEGIN; CREATE TABLE more (); PREPARE TRANSACTION '"+name+"'")
		t.Cleanup(func() { db.Exec(t, "ROLLBACK PREPARED '"+name+"'") })
	}
	prepare(newDatabaseOn(t, db.Server), "elsewhere")
	require.Zero(t, db.measure(t).OldestTransactionAge)
	prepare(db, "here")
	since := db.clock(t)
	before := db.clock(t)

	require.GreaterOrEqual(t, db.measure(t).OldestTransactionAge, before.Sub(since))
	require.Positive(t, db.measure(t).OldestTransactionAge)
}

// It is at work on a table that takes it minutes.
func TestAnAutomaticVacuumIsNone(t *testing.T) {
	t.Parallel()

	db := newLagDatabaseOn(t, map[string]string{
		"autovacuum_naptime": "1", "autovacuum_vacuum_cost_delay": "100ms", "autovacuum_vacuum_cost_limit": "1",
	})
	db.Exec(t, "CREATE TABLE more WITH (fillfactor = 10) AS SELECT repeat('x', 500) FROM generate_series(1, 2000); DELETE FROM more")
	const vacuum = `SELECT min(a.xact_start) FROM pg_stat_progress_vacuum AS p JOIN pg_stat_activity AS a USING (pid)
		WHERE p.relid = 'more'::regclass AND a.backend_type = 'autovacuum worker'`
	require.Eventually(t, func() bool { return db.text(t, vacuum) != "NULL" }, patience, tick)
	since := db.text(t, vacuum)

	require.Zero(t, db.measure(t).OldestTransactionAge)

	require.Equal(t, since, db.text(t, vacuum), "it was at work all the time")
}

// A login as a user's who was not given pg_read_all_stats.
func TestSaysWhatTheUserMayNotSee(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.login = db.CreateLogin(t)
	db.Exec(t, "GRANT SELECT ON outbox, outbox_failed, outbox_paused TO "+db.login.Name)
	open(t, db.Conn(t))
	var log logged
	probe := outbox.NewLagProbe(db.lagStore(), slog.New(slog.NewTextHandler(&log, nil)))

	lag, err := probe.Measure(t.Context())

	require.NoError(t, err)
	require.Zero(t, lag.OldestTransactionAge)
	require.Contains(t, log.text, "level=WARN")
	require.Contains(t, log.text, "GRANT pg_read_all_stats TO outbox_lag")

	own := postgrestest.Connect(t, db.login.URL)
	open(t, own)
	lag, err = probe.Measure(t.Context())
	require.NoError(t, err)
	require.Positive(t, lag.OldestTransactionAge, "what is visible is measured")
}

type logged struct{ text string }

func (l *logged) Write(p []byte) (int, error) {
	l.text += string(p)
	return len(p), nil
}

func TestMeasuresWhileARelayHoldsABatch(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.insert(t, 1, 4, "1 hour", "")
	relay := &database{db.Database, db.CreateLogin(t, "outbox_relay")}
	session := relay.session(t)
	require.Len(t, claim(t, session, everything).Events, 4)

	lag := db.measure(t).Lag

	require.Equal(t, 4, lag.Unpublished)
	requireAge(t, time.Hour, lag.OldestUnpublishedAge)
	require.Positive(t, lag.OldestTransactionAge)
	settle(t, session, outbox.Settlement{Published: upTo(4)})
	require.Zero(t, db.measure(t).Unpublished)
}

// All that statements on rows can lock, and an index that is made meanwhile.
func TestMeasuresWhileAllIsLocked(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.insert(t, 1, 4, "1 hour", "")
	conn := db.Conn(t)
	_, err := conn.Exec(t.Context(), "BEGIN; SELECT FROM outbox FOR UPDATE; UPDATE outbox SET published_at = now();"+
		"LOCK TABLE outbox, outbox_failed, outbox_paused IN EXCLUSIVE MODE", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)

	require.Equal(t, 4, db.measure(t).Unpublished)
}

func TestLeavesNeitherSessionNorTransaction(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.measure(t)
	db.waitForNobody(t)
}

// What the user or the database says otherwise has no effect.
func TestDefaultsDoNotDisturbAMeasurement(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.insert(t, 1, 4, "1 hour", "")
	db.slowDown(t, 0.1)
	for setting, value := range map[string]string{
		"default_transaction_isolation": "serializable", "default_transaction_deferrable": "on",
		"statement_timeout": "200", "idle_in_transaction_session_timeout": "1", "timezone": "'Asia/Tokyo'", "datestyle": "'German'", "search_path": "''",
	} {
		db.Exec(t, "ALTER ROLE "+db.login.Name+" SET "+setting+" = "+value)
	}

	lag := db.measure(t).Lag

	require.Equal(t, 4, lag.Unpublished)
	requireAge(t, time.Hour, lag.OldestUnpublishedAge)
}

// The outbox is a view of itself whose topic is what the settings are while it is
// read, and just that bus is paused.
func TestLimitsAreInForceInAMeasurement(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.insert(t, 1, 1, "1 hour", "")
	db.Exec(t, `ALTER TABLE outbox RENAME TO rows;
		CREATE VIEW outbox AS SELECT seq, created_at, deliver_after, published_at, concat_ws(' ',
			current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'),
			current_setting('transaction_timeout', true), current_setting('transaction_read_only'), current_setting('jit')) AS topic FROM rows;
		GRANT SELECT ON outbox TO outbox_lag`)
	for setting, value := range map[string]string{"transaction_timeout": "70s", "": ""} { // since PostgreSQL 17
		db.Exec(t, "INSERT INTO outbox_paused (topic) SELECT concat_ws(' ', '1min', '2s', '10s', nullif($2::text, ''), 'on', 'off') "+
			"WHERE ($1::text = '') = (current_setting('transaction_timeout', true) IS NULL)", setting, value)
	}

	require.Equal(t, 1, db.measure(t).Paused)
}

// Whoever waits for a table that is being rewritten must not take it for empty.
func TestATableThatIsBeingRewrittenIsNotEmpty(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.insert(t, 1, 4, "1 hour", "")
	db.Exec(t, "ALTER ROLE "+db.login.Name+" SET default_transaction_isolation = 'repeatable read'")
	db.Exec(t, "INSERT INTO outbox (seq, event_type, payload, published_at) VALUES (5, 'a', '{}', now() - interval '1 hour')")
	conn := db.Conn(t)
	_, err := conn.Exec(t.Context(), "BEGIN; ALTER TABLE outbox ADD COLUMN more float DEFAULT random()", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	var measured outbox.Measurement
	ended := make(chan error)
	go func() {
		var err error
		measured, err = db.lagStore().Measure(t.Context(), fromFront)
		ended <- err
	}()
	require.Eventually(t, func() bool {
		return db.QueryInt(t, "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND wait_event_type = 'Lock'", db.login.Name) == 1
	}, patience, tick)

	_, err = conn.Exec(t.Context(), "COMMIT")

	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Equal(t, 4, measured.Unpublished)
	require.EqualValues(t, 5, measured.Greatest)
	requireAge(t, time.Hour, measured.OldestPublishedAge)
}

func TestMeasuresATableOfAnyName(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	for _, table := range []postgres.Table{
		{Schema: "App", Name: "Outbox"},
		{Schema: `a"b""c`, Name: `'it''s' "the" outbox"`},
		{Schema: "$1", Name: "$2::text %s %I ${x}"},
		{Schema: "-- a", Name: "/* b */ -- c\n\td"},
		{Schema: `a\`, Name: `b\"`},
		{Schema: "Käse🧀", Name: "first"},
	} {
		db.Exec(t, "CREATE SCHEMA "+pgx.Identifier{table.Schema}.Sanitize())
		db.Exec(t, postgres.Schema(table)+"; ALTER TABLE "+table.String()+" SET (autovacuum_enabled = off)")
		db.Exec(t, "INSERT INTO "+table.String()+" (event_type, payload) SELECT 'a', '{}' FROM generate_series(1, 4)")
		store := postgres.NewLagStore(db.connect, postgres.LagConfig{Table: table, Bus: "events", CountLimit: limit})

		measured, err := store.Measure(t.Context(), fromFront)
		require.NoError(t, err)
		require.Equal(t, 4, measured.Unpublished)
		db.Exec(t, "DELETE FROM "+table.String())
		require.Eventually(t, func() bool {
			measured, err := store.Measure(t.Context(), fromFront)
			return err == nil && measured.DeadRows == 4
		}, patience, 10*tick)
	}
}

func TestMeasuresAViewOfAnApplicationsOwnTable(t *testing.T) {
	t.Parallel()

	db := newDatabaseOf(t, ownTable)
	db.login = db.CreateLogin(t)
	db.Exec(t, `GRANT SELECT (seq, topic, created_at, deliver_after, published_at) ON outbox TO `+db.login.Name)
	db.Exec(t, `GRANT SELECT ON outbox_failed, outbox_paused TO `+db.login.Name)
	db.Exec(t, `UPDATE messages SET "sentAt" = now() - interval '1 hour' WHERE "Nr" = 2; INSERT INTO outbox_failed (seq) VALUES (9)`)

	measured := db.measure(t)

	require.Equal(t, 3, measured.Unpublished)
	require.Equal(t, 1, measured.Failed)
	require.Equal(t, []int64{1, 4}, []int64{measured.First, measured.Greatest})
	requireAge(t, time.Hour, measured.OldestPublishedAge)
	db.requireDeadRows(t, 1)
	db.Exec(t, "INSERT INTO outbox_paused (topic) VALUES (NULL)")
	require.Equal(t, 3, db.measure(t).Paused, "the claim takes none of them")
}

func TestMeasuresAPartitionedTable(t *testing.T) {
	t.Parallel()

	db := newDatabaseAs(t, "outbox_lag", partitioned+"GRANT SELECT (seq, topic, created_at, deliver_after, published_at) ON outbox TO outbox_lag;")
	db.Exec(t, `INSERT INTO outbox (event_type, payload, created_at, published_at)
		SELECT 'a', '{}', at, CASE WHEN at = '2024-01-05' THEN now() - interval '1 hour' END
		FROM unnest('{2024-02-05,2024-01-05,2025-07-07,2024-01-06}'::timestamptz[]) AS at`)

	measured := db.measure(t)

	require.Equal(t, 3, measured.Unpublished)
	require.Equal(t, []int64{1, 4}, []int64{measured.First, measured.Greatest})
	requireAge(t, time.Hour, measured.OldestPublishedAge)
	oldest := time.Since(time.Date(2024, 1, 6, 0, 0, 0, 0, time.UTC))
	requireAge(t, oldest-time.Minute, measured.OldestUnpublishedAge)
}

func TestAMeasurementEndsWithItsContext(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("out of time"))

	_, err := db.lagStore().Measure(ctx, fromFront)

	require.ErrorIs(t, err, context.Canceled)
	db.waitForNobody(t)
}

// Row-level security without a policy hides everything: an outbox that stands
// still would look empty.
func TestDoesNotMeasureWhatIsHidden(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	require.NotContains(t, db.measure(t).Unseen, "row-level security")

	db.Exec(t, "ALTER TABLE outbox ENABLE ROW LEVEL SECURITY")
	db.Exec(t, "CREATE POLICY writers ON outbox FOR SELECT TO outbox_writer USING (true)")
	db.Exec(t, "CREATE POLICY narrow ON outbox AS RESTRICTIVE USING (true)")
	_, err := db.lagStore().Measure(t.Context(), fromFront)
	require.ErrorContains(t, err, "row-level security hides all rows of \"public\".\"outbox\" from this user: give the roles of the functions a policy")

	db.Exec(t, "CREATE POLICY lag ON outbox FOR SELECT TO outbox_lag USING (true)")
	require.Contains(t, db.measure(t).Unseen, "row-level security decides which rows are seen")
}
