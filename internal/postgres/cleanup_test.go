package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// week is a retention; most rows of the tests were published before it.
const week = 7 * 24 * time.Hour

var cleaning = outbox.CleanerConfig{Retention: week, FailedRetention: week, BatchSize: 100}

// newCleanupDatabase has an outbox and a login that may do what a cleanup does.
func newCleanupDatabase(t *testing.T) *database {
	t.Helper()
	return newDatabaseAs(t, "outbox_cleanup", postgres.Schema(publicOutbox))
}

// expired inserts events that were published a month ago, seq 1 to n, one every
// second.
func (d *database) expired(t *testing.T, n int) {
	t.Helper()
	d.Exec(t, `INSERT INTO outbox (seq, event_type, payload, published_at)
		SELECT n, 'order.placed', '{}', now() - interval '30 days' + n * interval '1 second' FROM generate_series(1, $1::int) AS n`, n)
}

// failedAndRedriven inserts n of both, a month old.
func (d *database) failedAndRedriven(t *testing.T, n int) {
	t.Helper()
	d.Exec(t, `INSERT INTO outbox_failed (seq, failed_at, error_code, error_message)
		SELECT n, now() - interval '30 days', 'code', 'message' FROM generate_series(1, $1::int) AS n`, n)
	d.Exec(t, `INSERT INTO outbox_redriven (seq, attempts, failed_at, error_code, error_message, times_failed, redriven_at)
		SELECT n, 1, now(), 'code', 'message', times, now() - interval '30 days' FROM generate_series(1, $1::int) AS n, generate_series(1, 2) AS times`, n)
}

func (d *database) clean(t *testing.T, config outbox.CleanerConfig) (outbox.CleanupReport, error) {
	t.Helper()
	return d.cleanTable(t, publicOutbox, config)
}

func (d *database) cleanTable(t *testing.T, table postgres.Table, config outbox.CleanerConfig) (outbox.CleanupReport, error) {
	t.Helper()
	return d.cleanWithin(t, time.Hour, table, config)
}

func (d *database) cleanWithin(
	t *testing.T, timeout time.Duration, table postgres.Table, config outbox.CleanerConfig,
) (outbox.CleanupReport, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	store := postgres.NewCleanupStore(d.connect, table)
	report, err := outbox.NewCleaner(store, config, slog.New(slog.DiscardHandler)).Run(ctx)
	report.Duration = 0
	return report, err
}

// requireReport takes more batches for as good: a slow machine makes them small.
func requireReport(t *testing.T, expected, report outbox.CleanupReport) {
	t.Helper()
	require.GreaterOrEqual(t, report.Batches, expected.Batches)
	report.Batches = expected.Batches
	require.Equal(t, expected, report)
}

func (d *database) cleanupSession(t *testing.T) outbox.CleanupSession {
	t.Helper()
	session, err := postgres.NewCleanupStore(d.connect, publicOutbox).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { session.Close(context.WithoutCancel(t.Context())) })
	return session
}

func (d *database) left(t *testing.T) []int64 {
	t.Helper()
	return d.seqs(t, "SELECT seq FROM outbox")
}

func TestCleanupDeletesPublishedEventsThatHaveExpired(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, created_at, published_at) VALUES
		(1, 'a', '{}', now() - interval '1 year', NULL),
		(2, 'a', '{}', now() - interval '1 year', now() - interval '7 days' + interval '1 minute'),
		(3, 'a', '{}', now() - interval '1 year', now() - interval '7 days' - interval '1 millisecond'),
		(4, 'a', '{}', now(), now() - interval '1 year'),
		(5, 'a', '{}', now() - interval '1 year', now() + interval '1 hour'),
		(6, 'a', '{}', now() - interval '1 year', 'infinity'),
		(7, 'a', '{}', now() - interval '1 year', '-infinity'),
		(8, 'a', '{}', now() - interval '1 year', '0001-01-01 00:00:00+00'),
		(9, 'a', '{}', now() - interval '1 year', '4714-11-24 00:00:00+00 BC')`)

	report, err := db.clean(t, cleaning)

	require.NoError(t, err)
	requireReport(t, outbox.CleanupReport{Deleted: 5, Batches: 1, Stopped: outbox.Done}, report)
	require.Equal(t, []int64{1, 2, 5, 6}, db.left(t))
}

// Whatever zone a role has, and however that changes its clocks.
func TestARetentionIsTheSameInEveryTimeZone(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	config := cleaning
	for _, zone := range []string{"UTC", "Asia/Tokyo", "America/New_York", "Pacific/Kiritimati"} {
		db.Exec(t, "ALTER ROLE "+db.login.Name+" SET timezone = '"+zone+"'")
		for _, days := range []int{1, 200} { // across a change of the clocks
			db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, published_at) VALUES
				(1, 'a', '{}', now() - $1 * interval '24 hours' - interval '1 second'),
				(2, 'a', '{}', now() - $1 * interval '24 hours' + interval '1 minute')`, days)
			config.Retention = time.Duration(days) * 24 * time.Hour

			_, err := db.clean(t, config)

			require.NoError(t, err)
			require.Equal(t, []int64{2}, db.left(t), zone)
			db.Exec(t, "DELETE FROM outbox")
		}
	}
}

func TestTheOldestIsFoundAmongThoseThatHaveExpired(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 3)
	db.failedAndRedriven(t, 3)
	session := db.cleanupSession(t)
	for _, kind := range []outbox.RowKind{outbox.PublishedEvents, outbox.FailedEvents, outbox.Redrives} {
		search := outbox.Search{Kind: kind, After: foremost, Retention: week, Limit: time.Second}

		first, err := session.Oldest(t.Context(), search)
		require.NoError(t, err)
		require.True(t, first.Found)
		require.Equal(t, int64(1), first.First.Seq)
		require.Less(t, first.First.At, first.Upto.At)

		search.After = first.First
		second, err := session.Oldest(t.Context(), search)
		require.NoError(t, err)
		require.Equal(t, int64(2), second.First.Seq)

		search.Retention = 31 * 24 * time.Hour
		none, err := session.Oldest(t.Context(), search)
		require.NoError(t, err)
		require.False(t, none.Found, "%s that has not expired", kind)
	}
}

func TestCleanupWithoutRetentionDeletesAllThatIsPublished(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.Exec(t, insert+"CASE WHEN n % 2 = 0 THEN now() END FROM generate_series(1, 10) AS n")

	_, err := db.clean(t, outbox.CleanerConfig{BatchSize: 3})

	require.NoError(t, err)
	require.Equal(t, []int64{1, 3, 5, 7, 9}, db.left(t))
}

func TestCleanupDeletesTheOldestFirst(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.Exec(t, insert+"now() - interval '30 days' - n * interval '1 minute' FROM generate_series(1, 10) AS n")
	session := db.cleanupSession(t)

	deleted, err := session.Delete(t.Context(), deletion(4))

	require.NoError(t, err)
	require.Equal(t, []int{4, 4}, []int{deleted.Locked, deleted.Deleted})
	require.Equal(t, int64(7), deleted.Last.Seq)
	require.Equal(t, upTo(6), db.left(t))
}

// foremost is before every place.
var foremost = outbox.Place{At: math.MinInt64, Seq: math.MinInt64}

// deletion asks for published events of whatever age.
func deletion(rows int) outbox.Deletion {
	return outbox.Deletion{
		Kind: outbox.PublishedEvents, After: foremost, Upto: outbox.Place{At: math.MaxInt64, Seq: math.MaxInt64}, Rows: rows, Limit: time.Second,
	}
}

// A table that was migrated has one time for all that was published before.
func TestCleanupGoesOnAmongRowsOfTheSameTime(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.Exec(t, insert+"'2024-02-29' FROM generate_series(-500, 500) AS n")
	db.Exec(t, "INSERT INTO outbox (seq, event_type, payload) VALUES (501, 'pending', '{}')")
	db.failedAndRedriven(t, 250)

	report, err := db.clean(t, cleaning)

	require.NoError(t, err)
	requireReport(t, outbox.CleanupReport{Deleted: 1001, DeletedFailed: 250, Batches: 14, Stopped: outbox.Done}, report)
	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox"))
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
	_, err = db.clean(t, cleaning) // a batch may have ended between two redrives of one event
	require.NoError(t, err)
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox_redriven"))
}

func TestCleanupKeepsFailedEventsAndRedrivesForTheirOwnRetention(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 3)
	db.failedAndRedriven(t, 3)
	db.Exec(t, "UPDATE outbox_failed SET failed_at = now() - interval '7 days' + interval '1 minute' WHERE seq = 2")
	db.Exec(t, "UPDATE outbox_redriven SET redriven_at = now() - interval '7 days' + interval '1 minute' WHERE seq = 2 AND times_failed = 1")
	config := cleaning
	config.FailedRetention = 0

	report, err := db.clean(t, config)
	require.NoError(t, err)
	requireReport(t, outbox.CleanupReport{Deleted: 3, Batches: 1, Stopped: outbox.Done}, report)
	require.Equal(t, 3, db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
	require.Equal(t, 6, db.QueryInt(t, "SELECT count(*) FROM outbox_redriven"))

	report, err = db.clean(t, cleaning)
	require.NoError(t, err)
	requireReport(t, outbox.CleanupReport{DeletedFailed: 2, Batches: 1, Stopped: outbox.Done}, report)
	require.Equal(t, []int64{2}, db.seqs(t, "SELECT seq FROM outbox_failed"))
	require.Equal(t, "2 1", db.text(t, "SELECT string_agg(seq || ' ' || times_failed, ', ') FROM outbox_redriven"))
}

func TestCleanupPassesOverARowThatSomebodyHasLocked(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 250)
	db.failedAndRedriven(t, 250)
	holder := db.Conn(t)
	_, err := holder.Exec(t.Context(), `BEGIN; SELECT FROM outbox WHERE seq IN (1, 107) FOR SHARE;
		SELECT FROM outbox_failed WHERE seq = 7 FOR UPDATE; SELECT FROM outbox_redriven WHERE seq = 7 AND times_failed = 1 FOR UPDATE`, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)

	report, err := db.clean(t, cleaning)

	require.NoError(t, err)
	requireReport(t, outbox.CleanupReport{Deleted: 248, DeletedFailed: 249, Batches: 6, Stopped: outbox.Done}, report)
	require.Equal(t, []int64{1, 107}, db.left(t))
	require.Equal(t, []int64{7}, db.seqs(t, "SELECT seq FROM outbox_failed"))
	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox_redriven WHERE seq = 7"))
	_, err = holder.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	report, err = db.clean(t, cleaning)
	require.NoError(t, err)
	require.Equal(t, 2, report.Deleted)
}

// Two cleanups and three relays on the same rows: whoever waits for another here
// waits for ever, or until a limit that is an error.
func TestCleanupsAndRelaysDoNotHinderEachOther(t *testing.T) {
	t.Parallel()

	const rows = 2_000
	db := newCleanupDatabase(t)
	db.expired(t, rows)
	db.Exec(t, insert+fmt.Sprintf("NULL FROM generate_series(%d, %d) AS n", rows+1, 2*rows))
	relays := &database{db.Database, db.CreateLogin(t, "outbox_relay")}
	var mu sync.Mutex
	deleted, drained := 0, []int64{}

	cleanup := func() {
		config := cleaning
		config.BatchSize = 10
		report, err := db.clean(t, config)
		mu.Lock()
		defer mu.Unlock()
		require.NoError(t, err)
		deleted += report.Deleted
	}
	relay := func() {
		seqs, err := drainAll(t.Context(), relays.session(t), 10)
		mu.Lock()
		defer mu.Unlock()
		require.NoError(t, err)
		drained = append(drained, seqs...)
	}
	together(cleanup, relay, cleanup, relay, relay)

	require.Equal(t, rows, deleted)
	slices.Sort(drained)
	require.Equal(t, between(rows+1, 2*rows), drained)
	require.Equal(t, between(rows+1, 2*rows), db.published(t))
	require.Zero(t, db.QueryInt(t, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))
}

// deleting makes the deletion of a published event do something before.
func deleting(statement string) string {
	return fmt.Sprintf(`
		CREATE FUNCTION on_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; RETURN old; END $$;
		CREATE TRIGGER on_delete BEFORE DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION on_delete()`, statement)
}

// afterDeleting makes the deletion of a published event do something after.
func afterDeleting(kind, timing, call string) string {
	return fmt.Sprintf(`
		CREATE FUNCTION after_delete() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM %s; RETURN NULL; END $$;
		CREATE %s after_delete AFTER DELETE ON outbox %s FOR EACH ROW EXECUTE FUNCTION after_delete()`, call, kind, timing)
}

func TestCleanupMakesProgressThroughASlowTrigger(t *testing.T) {
	t.Parallel()

	for name, trigger := range map[string]string{
		"BeforeEachOfMany":     deleting("PERFORM pg_sleep(0.001)"),
		"BeforeEachOfAFew":     deleting("PERFORM pg_sleep(0.005)"),
		"AfterAllHaveGone":     afterDeleting("TRIGGER", "", "pg_sleep(0.005)"),
		"WhenTheyAreCommitted": afterDeleting("CONSTRAINT TRIGGER", "DEFERRABLE INITIALLY DEFERRED", "pg_sleep(0.005)"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newCleanupDatabase(t)
			db.expired(t, 400)
			db.Exec(t, trigger)
			db.Exec(t, "ALTER ROLE "+db.login.Name+" SET statement_timeout = '200ms'")
			config := cleaning
			config.BatchSize = 1000

			report, err := db.clean(t, config)

			require.NoError(t, err)
			require.Equal(t, 400, report.Deleted)
			require.Empty(t, db.left(t))
		})
	}
}

func TestCleanupIsolatesARowThatATriggerKeeps(t *testing.T) {
	t.Parallel()

	for name, statement := range map[string]string{
		"WithAnErrorOfItsOwn":      "IF old.seq = 77 THEN RAISE 'seven and seventy'; END IF",
		"WithAnErrorOfPermissions": "IF old.seq = 77 THEN RAISE 'seven and seventy' USING errcode = '42501'; END IF",
		"BySleepingForEver":        "IF old.seq = 77 THEN PERFORM pg_sleep(1000); END IF",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newCleanupDatabase(t)
			db.expired(t, 250)
			db.failedAndRedriven(t, 100)
			db.Exec(t, deleting(statement))

			report, err := db.cleanWithin(t, 8*time.Second, publicOutbox, cleaning) // little time, little patience

			require.ErrorContains(t, err, "published event with seq 77 could not be deleted and is left to the next run")
			if name == "BySleepingForEver" {
				require.ErrorContains(t, err, "tried alone, for at most ")
				require.ErrorContains(t, err, "canceling statement due to statement timeout")
			} else {
				require.ErrorContains(t, err, "seven and seventy")
			}
			require.Equal(t, 249, report.Deleted)
			require.Equal(t, 100, report.DeletedFailed)
			require.Equal(t, outbox.Done, report.Stopped)
			require.Equal(t, []int64{77}, db.left(t))
		})
	}
}

func TestCleanupIsolatesARowThatAForeignKeyKeeps(t *testing.T) {
	t.Parallel()

	for name, moment := range map[string]string{"AtOnce": "", "AtTheCommit": "DEFERRABLE INITIALLY DEFERRED"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newCleanupDatabase(t)
			db.expired(t, 250)
			db.Exec(t, "CREATE TABLE audit (event bigint REFERENCES outbox "+moment+"); INSERT INTO audit VALUES (1), (250)")

			report, err := db.clean(t, cleaning)

			require.ErrorContains(t, err, "published event with seq 1 could not be deleted")
			require.ErrorContains(t, err, "published event with seq 250 could not be deleted")
			require.ErrorContains(t, err, "violates foreign key constraint")
			require.Equal(t, 248, report.Deleted)
			require.Equal(t, []int64{1, 250}, db.left(t))
		})
	}
}

func TestCleanupDeletesWhatIsBehindRowsThatAForeignKeyKeeps(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 1000)
	db.Exec(t, `CREATE TABLE audit (event bigint CONSTRAINT audited REFERENCES outbox);
		INSERT INTO audit SELECT generate_series(1, 300); CREATE INDEX ON audit (event)`)

	report, err := db.clean(t, cleaning)

	require.ErrorContains(t, err, "published event with seq 1 could not be deleted")
	require.ErrorContains(t, err, `violates foreign key constraint "audited"`)
	require.Equal(t, 700, report.Deleted)
	require.Equal(t, outbox.Done, report.Stopped)
	require.Equal(t, upTo(300), db.left(t))
}

// Whatever else a SQLSTATE means, from a trigger it is about the row.
func TestCleanupIsolatesARowWhateverErrorATriggerRaises(t *testing.T) {
	t.Parallel()

	for _, code := range []string{"55000", "25006", "40000", "53400", "57000", "57P01", "58000", "XX000", "08006"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()

			db := newCleanupDatabase(t)
			db.expired(t, 10)
			db.Exec(t, deleting("IF old.seq = 3 THEN RAISE 'three' USING errcode = '"+code+"'; END IF"))

			report, err := db.clean(t, cleaning)

			require.ErrorContains(t, err, "published event with seq 3 could not be deleted and is left to the next run")
			require.ErrorContains(t, err, "three")
			require.Equal(t, 9, report.Deleted)
			require.Equal(t, []int64{3}, db.left(t))
		})
	}
}

func TestCleanupEndsWhereATriggerDropsTheDeletion(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 250)
	db.Exec(t, deleting("IF old.seq BETWEEN 101 AND 150 THEN RETURN NULL; END IF"))

	report, err := db.clean(t, cleaning)

	require.ErrorContains(t, err, "published event with seq 101 could not be deleted")
	require.ErrorContains(t, err, "look for a trigger")
	require.ErrorContains(t, err, "and 49 more rows like these")
	requireReport(t, outbox.CleanupReport{Deleted: 200, Batches: 3, Stopped: outbox.Done}, report)
	require.Equal(t, between(101, 150), db.left(t))
}

// Deleting row 1 makes row 3 pending, which the batch has locked already.
func TestCleanupNeverDeletesARowThatIsPendingAgain(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 3)
	db.Exec(t, deleting("IF old.seq = 1 THEN UPDATE public.outbox SET published_at = NULL WHERE seq = 3; END IF"))

	report, err := db.clean(t, cleaning)

	require.NoError(t, err)
	require.Equal(t, 2, report.Deleted)
	require.Equal(t, []int64{3}, db.seqs(t, "SELECT seq FROM outbox WHERE published_at IS NULL"))
}

func TestCleanupEndsWithItsConnection(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.expired(t, 250)
	db.Exec(t, deleting("IF old.seq = 101 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF"))

	report, err := db.clean(t, cleaning)

	require.ErrorContains(t, err, "terminating connection due to administrator command")
	requireReport(t, outbox.CleanupReport{Deleted: 100, Batches: 1}, report)
	require.Equal(t, between(101, 250), db.left(t))
	db.waitForNobody(t)
}

func TestSaysWhatToDoWhenACleanupIsRefused(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ change, says, advises string }{
		"WithoutTheTable":         {"DROP TABLE outbox", `relation "public.outbox" does not exist`, `bring the tables of "public"."outbox" up to date`},
		"WithoutTheRightToDelete": {"REVOKE DELETE ON outbox FROM outbox_cleanup", "permission denied for table outbox", "give the user the role outbox_cleanup"},
		"WithoutTheRightToLock":   {"REVOKE UPDATE (published_at) ON outbox FROM outbox_cleanup", "permission denied for table outbox", "give the user the role outbox_cleanup"},
		"WithTimesWithoutZone": {
			"DROP INDEX outbox_pending, outbox_published; ALTER TABLE outbox ALTER COLUMN published_at TYPE timestamp",
			"column published_at must be of type timestamptz", "so that a time means the same to everyone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newCleanupDatabase(t)
			db.expired(t, 3)
			db.Exec(t, test.change)

			report, err := db.clean(t, cleaning)

			require.ErrorContains(t, err, test.says)
			require.ErrorContains(t, err, test.advises)
			require.NotContains(t, err.Error(), "left to the next run")
			require.Zero(t, report)
		})
	}
}

// What the cleanup needs is in the other tests, which run as this role.
func TestTheCleanupsRoleMayDoNoMore(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.pending(t, 1)
	db.failedAndRedriven(t, 1)
	db.Exec(t, "REVOKE CREATE ON SCHEMA public FROM PUBLIC") // as since PostgreSQL 15
	conn := postgrestest.Connect(t, db.login.URL)
	for _, statement := range []string{
		"SELECT payload FROM outbox",
		"SELECT event_type, headers FROM outbox",
		"INSERT INTO outbox (event_type, payload) VALUES ('a', '{}')",
		"UPDATE outbox SET payload = '{}'",
		"UPDATE outbox SET retry_at = NULL",
		"UPDATE outbox SET seq = 2",
		"DELETE FROM outbox RETURNING payload",
		"TRUNCATE outbox",
		"SELECT nextval('outbox_seq_seq')",
		"SELECT payload FROM outbox_failed",
		"SELECT error_message FROM outbox_failed",
		"UPDATE outbox_failed SET error_code = ''",
		"INSERT INTO outbox_failed (seq, error_code, error_message) VALUES (2, '', '')",
		"SELECT error_message FROM outbox_redriven",
		"UPDATE outbox_redriven SET times_failed = 7",
		"SELECT FROM outbox_paused",
		"DELETE FROM outbox_paused",
		"SELECT FROM outbox_schema",
		"ALTER TABLE outbox ADD COLUMN more int",
		"DROP TABLE outbox",
		"CREATE TABLE more ()",
		"CREATE SCHEMA more",
		"CREATE ROLE more",
		"SET ROLE outbox_relay",
	} {
		_, err := conn.Exec(t.Context(), statement)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, statement)
		require.Equal(t, "42501", refused.Code, "%s: %s", statement, refused.Message)
	}
}

func TestCleanupServesATableOfAnyName(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	table := postgres.Table{Schema: `a "b"`, Name: "public.outbox_failed; --"}
	db.Exec(t, "CREATE SCHEMA "+pgx.Identifier{table.Schema}.Sanitize())
	db.Exec(t, postgres.Schema(table))
	name := func(suffix string) string {
		return postgres.Table{Schema: table.Schema, Name: table.Name + suffix}.String()
	}
	db.expired(t, 5)
	db.failedAndRedriven(t, 5)
	for _, suffix := range []string{"", "_failed", "_redriven"} {
		db.Exec(t, "INSERT INTO "+name(suffix)+" SELECT * FROM outbox"+suffix)
	}

	report, err := db.cleanTable(t, table, cleaning)

	require.NoError(t, err)
	requireReport(t, outbox.CleanupReport{Deleted: 5, DeletedFailed: 5, Batches: 2, Stopped: outbox.Done}, report)
	for _, suffix := range []string{"", "_failed", "_redriven"} {
		require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM "+name(suffix)))
		require.NotZero(t, db.QueryInt(t, "SELECT count(*) FROM outbox"+suffix))
	}
}

const cleanupGrants = "GRANT SELECT (seq, published_at), UPDATE (published_at), DELETE ON outbox TO outbox_cleanup;"

func TestCleanupServesAView(t *testing.T) {
	t.Parallel()

	db := newCleanupDatabase(t)
	db.Exec(t, "DROP TABLE outbox")
	db.Exec(t, `
		CREATE TABLE events ("Nr" int PRIMARY KEY, kind text, "sentAt" timestamptz, tenant int NOT NULL DEFAULT 7);
		CREATE INDEX ON events ("sentAt", "Nr") WHERE "sentAt" IS NOT NULL;
		CREATE VIEW outbox AS SELECT "Nr" AS seq, kind AS event_type, "sentAt" AS published_at FROM events WHERE tenant = 7;
		INSERT INTO events SELECT n, 'a', CASE WHEN n % 2 = 0 THEN now() - interval '30 days' END, 7 + n / 200 FROM generate_series(1, 249) AS n;`+cleanupGrants)

	report, err := db.clean(t, cleaning)

	require.NoError(t, err)
	require.Equal(t, 99, report.Deleted)
	require.Equal(t, 100, db.QueryInt(t, "SELECT count(*) FROM outbox"))
	require.Equal(t, 25, db.QueryInt(t, `SELECT count(*) FROM events WHERE tenant = 8 AND "sentAt" IS NOT NULL`))
}

func TestCleanupServesAPartitionedTable(t *testing.T) {
	t.Parallel()

	db := newDatabaseAs(t, "outbox_cleanup", partitioned+cleanupGrants+
		"CREATE INDEX outbox_published ON outbox (published_at, seq) WHERE published_at IS NOT NULL")
	// The times cross the partitions, and a seq may be in several of them.
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, created_at, published_at)
		SELECT n, 'a', '{}', at, CASE WHEN n % 2 = 0 THEN '2025-08-01'::timestamptz + n * interval '1 minute' + (at - '2024-01-01') / 1000 END
		FROM generate_series(1, 200) AS n, unnest('{2024-02-05,2024-01-05,2025-07-07}'::timestamptz[]) AS at`)
	db.Exec(t, "INSERT INTO outbox (seq, event_type, payload, created_at) VALUES (2, 'pending', '{}', '2023-01-01')")
	db.Exec(t, "UPDATE outbox SET published_at = now() WHERE seq = 200 AND created_at < '2024-02-01'")

	report, err := db.clean(t, cleaning)

	require.NoError(t, err)
	requireReport(t, outbox.CleanupReport{Deleted: 299, Batches: 3, Stopped: outbox.Done}, report)
	require.Equal(t, 301, db.QueryInt(t, "SELECT count(*) FROM outbox WHERE published_at IS NULL"))
	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox WHERE published_at IS NOT NULL"))
}
