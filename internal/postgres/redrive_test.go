package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// Through two failures and two ways back.
func TestARedrivenEventIsTheSameAndItsFailuresCountOn(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox VALUES (3, '0190163d-8694-739b-aea5-966c26f8ad91', 'order', '4711', 'order.placed', '{"n": 1e400, "é": "\\u0001"}',
		'{"h": null}', 'shop', 'other', '2024-02-29 12:00:00.123456+00', now() - interval '1 day', now() - interval '1 hour', 4, 'before', NULL)`)
	relays := []string{"retry_at", "attempts", "last_error"}
	written := db.text(t, row, 3, relays)
	text := db.text(t, "SELECT payload::text || headers::text FROM outbox")
	admin := db.admin(t)

	for times := 1; times <= 3; times++ {
		db.condemn(t, 3)
		result, err := admin.List(t.Context(), all)
		require.NoError(t, err)
		require.Equal(t, times, result.Events[0].TimesFailed)
		require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox"))

		requireRedriven(t, admin, outbox.Selection{IDs: []string{"0190163d-8694-739b-aea5-966c26f8ad91"}, Limit: 1}, 3)

		require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
		require.Equal(t, written, db.text(t, row, 3, relays))
		require.Equal(t, text, db.text(t, "SELECT payload::text || headers::text FROM outbox"))
		require.JSONEq(t, `[0, null, "MalformedDetail: Detail is malformed."]`,
			db.text(t, "SELECT jsonb_build_array(attempts, retry_at, last_error) FROM outbox"))
		require.Equal(t, upTo(int64(times)), db.seqs(t, "SELECT times_failed FROM outbox_redriven WHERE seq = 3"))
	}
	// An event that was deferred four times before it failed has failed once more.
	require.JSONEq(t, `["0190163d-8694-739b-aea5-966c26f8ad91", 5, "MalformedDetail", "Detail is malformed."]`, db.text(t,
		"SELECT jsonb_build_array(id, attempts, error_code, error_message) FROM outbox_redriven WHERE times_failed = 1"))
	require.Equal(t, 3, db.QueryInt(t, "SELECT count(DISTINCT failed_at) FROM outbox_redriven WHERE failed_at < redriven_at"))
	require.Equal(t, []int64{3}, db.claimSeqs(t, everything))
}

func TestRedrivesWhatIsSelectedUpToTheLimit(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.failed(t, 5)

	result, err := db.admin(t).Redrive(t.Context(), outbox.Selection{All: true, Limit: 2})

	require.NoError(t, err)
	require.Equal(t, 5, result.Matched)
	require.Equal(t, 2, result.Changed)
	require.Equal(t, upTo(2), failedSeqs(result.Events))
	require.Equal(t, upTo(2), db.seqs(t, "SELECT seq FROM outbox"))
	require.Equal(t, between(3, 5), db.seqs(t, "SELECT seq FROM outbox_failed"))
	require.Equal(t, upTo(2), db.claimSeqs(t, everything))
}

// A relay from before redrives were noted has counted a second failure as the
// first.
func TestNotesARedriveThatAnOlderRelayDidNotCount(t *testing.T) {
	t.Parallel()

	for _, id := range []string{"id", "NULL"} {
		db := newDatabase(t)
		db.Exec(t, "ALTER TABLE outbox ALTER COLUMN id DROP NOT NULL")
		for range 2 {
			db.failed(t, 1)
			db.Exec(t, "UPDATE outbox_failed SET id = "+id)
			requireRedriven(t, db.admin(t), all, 1)
			db.Exec(t, "DELETE FROM outbox")
		}
		require.Equal(t, upTo(2), db.seqs(t, "SELECT times_failed FROM outbox_redriven"))
	}
}

// Numbers are given again after TRUNCATE RESTART IDENTITY. What another event
// with the number has been through is not this one's.
func TestFailuresAreCountedByEventNotByNumber(t *testing.T) {
	t.Parallel()

	for name, id := range map[string]string{"AnotherID": "gen_random_uuid()", "NoID": "NULL"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newDatabase(t)
			db.Exec(t, "ALTER TABLE outbox ALTER COLUMN id DROP NOT NULL")
			db.failed(t, 1)
			db.Exec(t, "UPDATE outbox_failed SET times_failed = 2")
			admin := db.admin(t)
			requireRedriven(t, admin, all, 1)
			db.Exec(t, "TRUNCATE outbox; INSERT INTO outbox (seq, id, event_type, payload) VALUES (1, "+id+", 'a', '{}')")
			own := db.text(t, "SELECT id FROM outbox")

			for times := 1; times <= 3; times++ {
				db.condemn(t, 1)
				require.Equal(t, times, db.QueryInt(t, "SELECT times_failed FROM outbox_failed"))
				requireRedriven(t, admin, all, 1)
			}

			require.Equal(t, "1 2 3", db.text(t, `SELECT string_agg(times_failed::text, ' ' ORDER BY redriven_at) FROM outbox_redriven
				WHERE coalesce(id::text, 'NULL') = $1 AND error_code = 'MalformedDetail' AND attempts = 1`, own))
		})
	}
}

// The cleanup forgets ways back that are long ago.
func TestFailuresCountOnWhereEarlierRedrivesAreForgotten(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.failed(t, 1)
	db.Exec(t, "UPDATE outbox_failed SET times_failed = 5")

	requireRedriven(t, db.admin(t), all, 1)
	db.condemn(t, 1)

	require.Equal(t, []int64{6}, db.seqs(t, "SELECT times_failed FROM outbox_failed"))
}

func TestAnEventThatTheOutboxDoesNotTakeStaysFailed(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.failed(t, 3)
	db.Exec(t, dropping+"CREATE TRIGGER t BEFORE INSERT ON outbox FOR EACH ROW WHEN (NEW.seq = 2) EXECUTE FUNCTION drop_it()")

	result, err := db.admin(t).Redrive(t.Context(), all)

	require.NoError(t, err)
	require.Equal(t, 3, result.Matched)
	require.Equal(t, 2, result.Changed)
	require.Equal(t, []int64{1, 3}, failedSeqs(result.Events))
	require.Equal(t, []int64{2}, result.Kept)
	require.Equal(t, []int64{2}, db.seqs(t, "SELECT seq FROM outbox_failed"))
	require.Equal(t, []int64{1, 3}, db.seqs(t, "SELECT seq FROM outbox"))
	require.Equal(t, []int64{1, 3}, db.seqs(t, "SELECT seq FROM outbox_redriven"))
}

// In each case two events could go back and one is in the way.
func TestARedriveThatCannotBeWholeChangesNothing(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ prepare, says string }{
		"NotDeleted": {
			dropping + "CREATE TRIGGER t BEFORE DELETE ON outbox_failed FOR EACH ROW WHEN (OLD.seq = 2) EXECUTE FUNCTION drop_it()",
			`event 2 was not deleted from "public"."outbox_failed"`,
		},
		"NotNoted": {
			dropping + "CREATE TRIGGER t BEFORE INSERT ON outbox_redriven FOR EACH ROW WHEN (NEW.seq = 2) EXECUTE FUNCTION drop_it()",
			`event 2 was not noted in "public"."outbox_redriven"`,
		},
		"AnotherID": {
			`CREATE FUNCTION change_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := gen_random_uuid(); RETURN NEW; END';
			CREATE TRIGGER t BEFORE INSERT ON outbox FOR EACH ROW WHEN (NEW.seq = 2) EXECUTE FUNCTION change_it()`,
			`"public"."outbox" has given another seq or id to an event, which is now 2`,
		},
		"AnotherSeq": {
			`CREATE FUNCTION change_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.seq := 77; RETURN NEW; END';
			CREATE TRIGGER t BEFORE INSERT ON outbox FOR EACH ROW WHEN (NEW.seq = 2) EXECUTE FUNCTION change_it()`,
			`"public"."outbox" has given another seq or id to an event, which is now 77`,
		},
		"SeqTaken": {
			"INSERT INTO outbox (seq, event_type, payload, published_at) VALUES (2, 'another', '{}', now())",
			`"public"."outbox" has events with these numbers (seq) already: [2]; discard the failed ones if they are the same, or leave them out`,
		},
		"NoKeyToNoteItBy": {
			"ALTER TABLE outbox_redriven DROP CONSTRAINT outbox_redriven_pkey",
			`a table beside "public"."outbox" lacks its primary key: compare it with what make schema prints`,
		},
		"NoPayload": {
			"UPDATE outbox_failed SET payload = NULL WHERE seq = 2", "violates not-null constraint",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newDatabase(t)
			db.failed(t, 3)
			db.Exec(t, test.prepare)
			before := db.text(t, "SELECT jsonb_agg(o) FROM outbox AS o")

			result, err := db.admin(t).Redrive(t.Context(), all)

			require.ErrorContains(t, err, test.says)
			require.NotErrorIs(t, err, outbox.ErrUncertain)
			require.Zero(t, result)
			require.Equal(t, upTo(3), db.seqs(t, "SELECT seq FROM outbox_failed"))
			require.Equal(t, before, db.text(t, "SELECT jsonb_agg(o) FROM outbox AS o"))
			require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox_redriven"))
		})
	}
}

// ownTableForAdmin grants what the role outbox_admin has in the usual tables.
const ownTableForAdmin = ownTable + `;
	DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'outbox_admin') THEN CREATE ROLE outbox_admin; END IF; END $$;
	GRANT SELECT (seq, id), INSERT ON outbox TO outbox_admin;
	GRANT SELECT, INSERT, UPDATE (id, attempts, failed_at, error_code, error_message, redriven_at) ON outbox_redriven TO outbox_admin;
	GRANT SELECT, UPDATE (failed_at), DELETE ON outbox_failed TO outbox_admin`

// The view has constants in place of some columns, and a payload that is text.
func TestRedrivesIntoAViewOfAnApplicationsOwnTable(t *testing.T) {
	t.Parallel()

	for name, number := range map[string]string{
		"Serial":            "bigserial",
		"GeneratedAlways":   "bigint GENERATED ALWAYS AS IDENTITY",
		"GeneratedIfAbsent": "bigint GENERATED BY DEFAULT AS IDENTITY",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			script := strings.Replace(ownTableForAdmin, "bigserial", number, 1)
			require.Contains(t, script, number)
			db := newDatabaseOf(t, script)
			written := db.text(t, `SELECT jsonb_agg(to_jsonb(m) - '{error}'::text[] ORDER BY "Nr") FROM messages AS m`)
			admin := db.admin(t)
			for range 2 {
				db.condemn(t, 1, 2, 3)
				require.Equal(t, 2, db.QueryInt(t, "SELECT count(*) FROM messages"))

				requireRedriven(t, admin, all, 1, 2, 3)

				require.Equal(t, written, db.text(t, `SELECT jsonb_agg(to_jsonb(m) - '{error}'::text[] ORDER BY "Nr") FROM messages AS m`))
				require.Equal(t, `{"b":1,  "a":1e2, "b":2}{ "z":1,"a":2 }`, db.text(t, `SELECT body || meta::text FROM messages WHERE "Nr" = 1`))
			}
			require.Equal(t, upTo(4), db.claimSeqs(t, everything))
			require.Equal(t, 6, db.QueryInt(t, "SELECT count(*) FROM outbox_redriven"))
		})
	}
}

// What makes an event itself has to come from the table.
func TestRefusesAViewInWhichAnEventWouldLoseItself(t *testing.T) {
	t.Parallel()

	db := newDatabaseOf(t, ownTableForAdmin)
	db.condemn(t, 1, 2)
	db.Exec(t, `CREATE OR REPLACE VIEW outbox AS SELECT "Nr" AS seq, md5(uid::text)::uuid AS id, NULL::text AS aggregate_type,
		NULL::text AS aggregate_id, kind AS event_type, body || '' AS payload, meta AS headers, 'shop'::text AS source, NULL::text AS topic,
		"at" AS created_at, NULL::timestamptz AS deliver_after, "retryAt" AS retry_at, tries AS attempts, error AS last_error,
		"sentAt" AS published_at FROM messages WHERE tenant = 7`)

	_, err := db.admin(t).Redrive(t.Context(), all)

	require.ErrorContains(t, err, `the columns id, payload of "public"."outbox" cannot be written`)
	require.ErrorIs(t, err, outbox.ErrRefused)
	require.Equal(t, upTo(2), db.seqs(t, "SELECT seq FROM outbox_failed"))
}

// The key of a partitioned table has more columns than seq, so it does not
// refuse a number that another partition has.
func TestRedrivesIntoAPartitionedTable(t *testing.T) {
	t.Parallel()

	db := newDatabaseOf(t, partitioned+"GRANT SELECT (seq, id), INSERT ON public.outbox TO outbox_admin")
	db.Exec(t, `INSERT INTO outbox (event_type, payload, created_at)
		SELECT 'a', '{}', at FROM unnest('{2024-02-05,2024-01-05,2025-07-07}'::timestamptz[]) AS at`)
	written := db.text(t, "SELECT jsonb_agg(to_jsonb(o) - '{last_error}'::text[] ORDER BY seq) FROM outbox AS o")
	db.condemn(t, 1, 2, 3)
	admin := db.admin(t)

	db.Exec(t, "INSERT INTO outbox (seq, event_type, payload, created_at) VALUES (2, 'another', '{}', '2026-01-01')")
	_, err := admin.Redrive(t.Context(), all)
	require.ErrorContains(t, err, "already: [2]")
	require.Equal(t, upTo(3), db.seqs(t, "SELECT seq FROM outbox_failed"))
	db.Exec(t, "DELETE FROM outbox")

	requireRedriven(t, admin, all, 1, 2, 3)
	require.Equal(t, written, db.text(t, "SELECT jsonb_agg(to_jsonb(o) - '{last_error}'::text[] ORDER BY seq) FROM outbox AS o"))
	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox_2"))

	db.condemn(t, 1)
	db.Exec(t, "DROP TABLE outbox_2, outbox_3")
	_, err = admin.Redrive(t.Context(), all)
	require.ErrorContains(t, err, "the lack of a partition for its created_at keeps an event out")
	require.Equal(t, upTo(1), db.seqs(t, "SELECT seq FROM outbox_failed"))
}

func TestAdministersATableOfAnyName(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	for _, table := range []postgres.Table{
		{Schema: `a"b""c`, Name: `'it''s' "the" outbox`},
		{Schema: "Käse🧀", Name: "-- c\n\td, source"},
		{Schema: "$1", Name: "$2::text %s\n, source\n"},
		{Schema: "x", Name: "public.outbox_failed"},
	} {
		db.Exec(t, "CREATE SCHEMA "+pgx.Identifier{table.Schema}.Sanitize())
		db.Exec(t, postgres.Schema(table))
		db.Exec(t, "INSERT INTO "+table.String()+" (event_type, payload, source) SELECT 'a', '{}', 's' FROM generate_series(1, 4)")
		admin := db.adminOf(t, table)
		live(t, db, table)

		requireRedriven(t, admin, all, 3)
		require.Equal(t, []int64{3}, db.seqs(t, "SELECT seq FROM "+table.String()+" WHERE source = 's' AND published_at IS NULL AND retry_at IS NULL"))
		_, err := admin.Pause(t.Context(), "*", "")
		require.NoError(t, err)
		_, err = admin.Resume(t.Context(), "*")
		require.NoError(t, err)
	}
}

// A generated column has its value by itself.
func TestLeavesGeneratedColumnsToTheTable(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, "ALTER TABLE outbox DROP COLUMN source, ADD COLUMN source text GENERATED ALWAYS AS ('shop.' || event_type) STORED")
	db.Exec(t, "GRANT SELECT (source) ON outbox TO outbox_relay")
	db.pending(t, 1)
	db.condemn(t, 1)
	require.Equal(t, "shop.order.placed", db.text(t, "SELECT source FROM outbox_failed"))

	requireRedriven(t, db.admin(t), all, 1)

	require.Equal(t, "shop.order.placed", postgrestest.Scalar[string](t, db.Database, "SELECT source FROM outbox"))
}
