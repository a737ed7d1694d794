package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// all selects every failed event.
var all = outbox.Selection{All: true, Limit: outbox.SelectMost}

// as is the same database, with a login that has another role.
func (d *database) as(t *testing.T, role string) *database {
	t.Helper()
	return &database{d.Database, d.CreateLogin(t, role)}
}

// asAdmin has a login that may do what an operator does.
func (d *database) asAdmin(t *testing.T) *database {
	t.Helper()
	return d.as(t, "outbox_admin")
}

// admin serves public.outbox.
func (d *database) admin(t *testing.T) *outbox.Admin {
	t.Helper()
	return d.adminOf(t, publicOutbox)
}

func (d *database) adminOf(t *testing.T, table postgres.Table) *outbox.Admin {
	t.Helper()
	return outbox.NewAdmin(postgres.NewAdminStore(d.asAdmin(t).connect, table), nil)
}

func openAdminSession(t *testing.T, connect func(context.Context) (*pgx.Conn, error)) outbox.AdminSession {
	t.Helper()
	session, err := postgres.NewAdminStore(connect, publicOutbox).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { session.Close(context.WithoutCancel(t.Context())) })
	return session
}

// failed inserts failed events that have what one must have, seq 1 to n, an
// hour apart, the last one failed an hour ago.
func (d *database) failed(t *testing.T, n int) {
	t.Helper()
	d.Exec(t, `INSERT INTO outbox_failed (seq, id, event_type, payload, created_at, failed_at, error_code, error_message, attempts)
		SELECT n, ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'order.placed', jsonb_build_object('n', n),
			'2024-01-01', now() - ($1 - n + 1) * interval '1 hour', 'TooLarge', 'no', 1
		FROM generate_series(1, $1::int) AS n`, n)
}

// ids are those that failed gives to events.
func ids[N int | int64](seqs ...N) []string {
	made := make([]string, len(seqs))
	for i, seq := range seqs {
		made[i] = fmt.Sprintf("00000000-0000-0000-0000-%012d", seq)
	}
	return made
}

// condemn moves pending events to the failed table, as the relay does.
func (d *database) condemn(t *testing.T, seqs ...int64) {
	t.Helper()
	session := d.session(t)
	claim(t, session, everything)
	var failures []outbox.Failure
	for _, seq := range seqs {
		failures = append(failures, outbox.Failure{Seq: seq, Code: "MalformedDetail", Message: "Detail is malformed."})
	}
	settle(t, session, outbox.Settlement{Failed: failures})
	session.Close(t.Context())
}

func failedSeqs(events []outbox.FailedEvent) []int64 {
	seqs := []int64{}
	for _, event := range events {
		seqs = append(seqs, event.Seq)
	}
	return seqs
}

func requireRedriven(t *testing.T, admin *outbox.Admin, selection outbox.Selection, seqs ...int64) {
	t.Helper()
	result, err := admin.Redrive(t.Context(), selection)
	require.NoError(t, err)
	require.Equal(t, seqs, failedSeqs(result.Events))
	require.Equal(t, len(seqs), result.Changed)
}

func TestListsWhatPassesEveryFilter(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.failed(t, 10)
	db.Exec(t, "UPDATE outbox_failed SET event_type = 'order.paid' WHERE seq % 2 = 0")
	db.Exec(t, "UPDATE outbox_failed SET error_code = 'NotJSON' WHERE seq % 3 = 0")
	seventh := postgrestest.Scalar[time.Time](t, db.Database, "SELECT failed_at FROM outbox_failed WHERE seq = 7")
	admin := db.admin(t)
	for name, test := range map[string]struct {
		selection outbox.Selection
		matched   int
		seqs      []int64
	}{
		"All":                {outbox.Selection{All: true, Limit: 100}, 10, upTo(10)},
		"NoMoreThanTheLimit": {outbox.Selection{All: true, Limit: 3}, 10, upTo(3)},
		"IDs":                {outbox.Selection{IDs: ids(9, 2), Limit: 100}, 2, []int64{2, 9}},
		"IDsUpToTheLimit":    {outbox.Selection{IDs: ids(9, 2), Limit: 1}, 2, []int64{2}},
		"EventType":          {outbox.Selection{EventType: "order.paid", Limit: 100}, 5, []int64{2, 4, 6, 8, 10}},
		"ErrorCode":          {outbox.Selection{ErrorCode: "NotJSON", Limit: 100}, 3, []int64{3, 6, 9}},
		"FailedBefore":       {outbox.Selection{FailedBefore: seventh, Limit: 100}, 6, upTo(6)},
		"EachOfThem": {
			outbox.Selection{IDs: ids(6, 7, 8), EventType: "order.paid", ErrorCode: "NotJSON", FailedBefore: seventh, Limit: 100},
			1,
			[]int64{6},
		},
		"NoSuchType":       {outbox.Selection{EventType: "ORDER.PAID", Limit: 100}, 0, []int64{}},
		"NoPattern":        {outbox.Selection{EventType: "order.%", Limit: 100}, 0, []int64{}},
		"IDsThatDoNotPass": {outbox.Selection{IDs: ids(1, 3), ErrorCode: "NotJSON", Limit: 100}, 1, []int64{3}},
	} {
		before := db.text(t, "SELECT jsonb_agg(f ORDER BY seq) FROM outbox_failed AS f")
		result, err := admin.List(t.Context(), test.selection)
		require.NoError(t, err, name)
		require.Equal(t, test.seqs, failedSeqs(result.Events), name)
		require.Equal(t, test.matched, result.Matched, name)
		require.Zero(t, result.Changed, name)
		require.Equal(t, before, db.text(t, "SELECT jsonb_agg(f ORDER BY seq) FROM outbox_failed AS f"), name)
	}
}

func TestListsWhatIsKnownOfAFailedEvent(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox_failed VALUES (7, '0190163d-8694-739b-aea5-966c26f8ad91', 'order', '4711', 'order.placed', '{"n": 1}', '{}', 'shop',
		'other', '2024-02-29 12:00:00.123456+00', NULL, NULL, 5, 'last', NULL, '2024-03-01 12:00:00.654321+00', 'TooLarge', 'no é', 3)`)
	db.Exec(t, `INSERT INTO outbox_failed (seq, created_at, error_code, error_message) VALUES (8, 'infinity', 'NotJSON', '')`)

	result, err := db.admin(t).List(t.Context(), all)

	require.NoError(t, err)
	require.Equal(t, outbox.FailedEvent{
		Seq: 7, ID: "0190163d-8694-739b-aea5-966c26f8ad91", Type: "order.placed", AggregateType: "order", AggregateID: "4711",
		Topic: "other", Source: "shop",
		CreatedAt: time.Date(2024, 2, 29, 12, 0, 0, 123456000, time.UTC),
		FailedAt:  time.Date(2024, 3, 1, 12, 0, 0, 654321000, time.UTC),
		ErrorCode: "TooLarge", ErrorMessage: "no é", Attempts: 5, TimesFailed: 3,
	}, result.Events[0])
	require.False(t, result.Events[1].FailedAt.IsZero())
	result.Events[1].FailedAt = time.Time{}
	require.Equal(t, outbox.FailedEvent{Seq: 8, ErrorCode: "NotJSON", TimesFailed: 1}, result.Events[1])
}

// A count that went on for ever would be no answer.
func TestCountsNoMoreThanAHundredThousand(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox_failed (seq, error_code, error_message) SELECT n, 'c', 'm' FROM generate_series(1, 100007) AS n`)

	result, err := db.admin(t).List(t.Context(), outbox.Selection{All: true, Limit: 2})

	require.NoError(t, err)
	require.Equal(t, outbox.CountMost, result.Matched)
	require.Equal(t, upTo(2), failedSeqs(result.Events))
}

func TestIDsThatAreNotFailedChangeNothing(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.failed(t, 3)
	admin := db.admin(t)

	for _, act := range []func() (outbox.AdminResult, error){
		func() (outbox.AdminResult, error) {
			return admin.List(t.Context(), outbox.Selection{IDs: ids(1, 4), Limit: 100})
		},
		func() (outbox.AdminResult, error) {
			return admin.Redrive(t.Context(), outbox.Selection{IDs: ids(1, 4), Limit: 100})
		},
		func() (outbox.AdminResult, error) {
			return admin.Discard(t.Context(), outbox.Selection{IDs: ids(1, 4), Limit: 100})
		},
	} {
		result, err := act()
		require.ErrorContains(t, err, "not in the failed table: "+ids(4)[0]+";")
		require.Zero(t, result)
	}
	_, err := admin.Redrive(t.Context(), outbox.Selection{
		IDs: ids(30, 1, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21), Limit: 100,
	})
	require.ErrorContains(t, err, strings.Join(ids(30, 11, 12, 13, 14, 15, 16, 17, 18, 19), ", ")+" and 2 more;")
	require.Equal(t, 3, db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox"))
}

func TestDiscardsOnlyWhatIsSelected(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.failed(t, 6)
	db.pending(t, 1)
	admin := db.admin(t)

	result, err := admin.Discard(t.Context(), outbox.Selection{ErrorCode: "TooLarge", Limit: 2})
	require.NoError(t, err)
	require.Equal(t, 6, result.Matched)
	require.Equal(t, 2, result.Changed)
	require.Equal(t, upTo(2), failedSeqs(result.Events))
	require.Equal(t, between(3, 6), db.seqs(t, "SELECT seq FROM outbox_failed"))

	result, err = admin.Discard(t.Context(), outbox.Selection{IDs: ids(5), Limit: 100})
	require.NoError(t, err)
	require.Equal(t, 1, result.Changed)
	require.Equal(t, []int64{3, 4, 6}, db.seqs(t, "SELECT seq FROM outbox_failed"))
	require.Equal(t, []int64{1}, db.seqs(t, "SELECT seq FROM outbox WHERE published_at IS NULL"))
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox_redriven"))
}

func TestCountsOnlyWhatTheDatabaseLetsGo(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.failed(t, 3)
	db.Exec(t, dropping+"CREATE TRIGGER t BEFORE DELETE ON outbox_failed FOR EACH ROW WHEN (OLD.seq = 2) EXECUTE FUNCTION drop_it()")

	result, err := db.admin(t).Discard(t.Context(), all)

	require.NoError(t, err)
	require.Equal(t, []int64{1, 3}, failedSeqs(result.Events))
	require.Equal(t, 2, result.Changed)
	require.Equal(t, []int64{2}, result.Kept)
	require.Equal(t, []int64{2}, db.seqs(t, "SELECT seq FROM outbox_failed"))
}

const dropping = "CREATE FUNCTION drop_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"

// Each transaction has limits of its own, whatever the login's are.
func TestAnActionIsBounded(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.failed(t, 1)
	db.Exec(t, `CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE '% % % % %',
			current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'),
			current_setting('tcp_user_timeout'), current_setting('transaction_isolation'); END $$;
		CREATE TRIGGER tell BEFORE DELETE ON outbox_failed FOR EACH ROW EXECUTE FUNCTION tell()`)
	for _, change := range []func(*outbox.Admin) error{
		func(admin *outbox.Admin) error { _, err := admin.Redrive(t.Context(), all); return err },
		func(admin *outbox.Admin) error { _, err := admin.Discard(t.Context(), all); return err },
	} {
		login := db.asAdmin(t)
		db.Exec(t, "ALTER ROLE "+login.login.Name+" SET default_transaction_isolation = 'serializable'")
		db.Exec(t, "ALTER ROLE "+login.login.Name+" SET statement_timeout = '1h'")
		err := change(outbox.NewAdmin(postgres.NewAdminStore(login.connect, publicOutbox), nil))
		require.ErrorContains(t, err, "15s 5s 20s 18")
		require.ErrorContains(t, err, "read committed")
		require.NotErrorIs(t, err, outbox.ErrUncertain)
	}
	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox"))
}

func TestWaitsForNoLockForLong(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.failed(t, 1)
	holder := db.Conn(t)
	_, err := holder.Exec(t.Context(), "BEGIN")
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "SELECT FROM outbox_failed FOR UPDATE")
	require.NoError(t, err)

	_, err = db.admin(t).Discard(t.Context(), all)
	require.ErrorContains(t, err, "lock timeout")
	require.ErrorContains(t, err, "which pg_locks shows: end that, or wait")

	listed, err := db.admin(t).List(t.Context(), all)
	require.NoError(t, err, "a list waits for nobody")
	require.Len(t, listed.Events, 1)
}

// A commit without an answer may have taken place. So may any statement that
// goes with it; one before it has not.
func TestSaysThatTheFateOfAChangeIsNotKnown(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.failed(t, 2)
	for _, uncertain := range []bool{true, false} {
		admin := db.asAdmin(t)
		line := startProxy(t, fmt.Sprintf("127.0.0.1:%d", db.Server.Port()))
		session := openAdminSession(t, admin.connectThrough(line))
		_, err := session.Find(t.Context(), outbox.Selection{IDs: ids(1), Limit: 1}, true)
		require.NoError(t, err)
		line.mode.Store(cutAnswer)
		if uncertain {
			_, err = session.Discard(t.Context(), []int64{1})
			require.ErrorIs(t, err, outbox.ErrUncertain)
		} else {
			_, err = session.Redrive(t.Context(), []int64{1})
			require.NotErrorIs(t, err, outbox.ErrUncertain)
		}
		require.Error(t, err)
		session.Close(t.Context())
		admin.waitForNobody(t)
		db.Exec(t, "DELETE FROM outbox_failed")
		db.failed(t, 2)
	}
}

// Several operators at once: each event goes back once, and nobody fails.
func TestRedrivesOfTheSameEventsAtOnceMoveEachOnce(t *testing.T) {
	t.Parallel()

	const operators, events = 6, 300
	db := newDatabase(t)
	db.failed(t, events)
	var changed atomic.Int64
	var redrives []func()
	errs := make(chan error, operators)
	for i := range operators {
		admin, selection := db.admin(t), all
		if i%2 == 0 {
			selection = outbox.Selection{ErrorCode: "TooLarge", Limit: 200}
		}
		redrives = append(redrives, func() {
			result, err := admin.Redrive(t.Context(), selection)
			changed.Add(int64(result.Changed))
			errs <- err
		})
	}

	together(redrives...)

	for range operators {
		require.NoError(t, <-errs)
	}
	require.EqualValues(t, events, changed.Load())
	require.Equal(t, upTo(events), db.seqs(t, "SELECT seq FROM outbox"))
	require.Equal(t, upTo(events), db.seqs(t, "SELECT seq FROM outbox_redriven"))
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
}

// The one who waited finds nothing left, and says so where the events were
// named.
func TestOfTwoRedrivesOfANamedEventOneFindsItGone(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.failed(t, 1)
	first := openAdminSession(t, db.asAdmin(t).connect)
	_, err := first.Find(t.Context(), all, true)
	require.NoError(t, err)
	admin, second := db.admin(t), make(chan error, 1)
	go func() {
		_, err := admin.Redrive(t.Context(), outbox.Selection{IDs: ids(1), Limit: 1})
		second <- err
	}()
	require.Eventually(t, func() bool {
		return db.QueryInt(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 1
	}, patience, tick)

	_, err = first.Redrive(t.Context(), []int64{1})
	require.NoError(t, err)
	first.Close(t.Context())

	require.ErrorContains(t, <-second, "not in the failed table: "+ids(1)[0])
	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox"))
}

func TestALoginWithoutTheAdminsRoleIsToldToJoinIt(t *testing.T) {
	t.Parallel()

	db := newDatabase(t) // its login is the relay's
	_, err := outbox.NewAdmin(postgres.NewAdminStore(db.connect, publicOutbox), nil).List(t.Context(), all)

	require.ErrorContains(t, err, "give the user the role outbox_admin")
}

func TestTheAdminsRoleMayDoNoMore(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 1)
	admin := db.asAdmin(t)
	admin.requireNoRight(t,
		"SELECT payload FROM outbox",
		"SELECT headers FROM outbox",
		"SELECT event_type FROM outbox",
		"SELECT last_error FROM outbox",
		"SELECT seq FROM outbox FOR UPDATE",
		"UPDATE outbox SET published_at = now()",
		"UPDATE outbox SET payload = '{}'",
		"UPDATE outbox SET retry_at = NULL",
		"DELETE FROM outbox",
		"TRUNCATE outbox",
		"SELECT nextval('outbox_seq_seq')",
		"INSERT INTO outbox_failed (seq, error_code, error_message) VALUES (1, '', '')",
		"UPDATE outbox_failed SET payload = '{}'",
		"UPDATE outbox_failed SET times_failed = 0",
		"UPDATE outbox_failed SET id = gen_random_uuid()",
		"TRUNCATE outbox_failed",
		"UPDATE outbox_redriven SET seq = 0",
		"UPDATE outbox_redriven SET times_failed = 0",
		"DELETE FROM outbox_redriven",
		"INSERT INTO outbox_paused (topic, since) VALUES ('*', now())",
		"UPDATE outbox_paused SET since = now()",
		"UPDATE outbox_paused SET topic = '*'",
		"TRUNCATE outbox_paused",
		"SELECT version FROM outbox_schema",
		"INSERT INTO outbox_schema (version) VALUES (9)",
		"DELETE FROM outbox_schema",
		"ALTER TABLE outbox ADD COLUMN more int",
		"CREATE INDEX ON outbox_failed (id)",
		"CREATE TABLE more ()",
		"CREATE SCHEMA more",
		"DROP TABLE outbox_failed",
		"GRANT outbox_relay TO "+admin.login.Name,
		"CREATE ROLE more",
		"SET ROLE outbox_relay",
	)
}
