package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// row is a row of the outbox as JSON, but for the columns named.
const row = "SELECT to_jsonb(o) - $2::text[] FROM outbox AS o WHERE seq = $1"

func TestSettleMarksExactlyTheAcceptedRows(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 6)
	untouched := db.text(t, row, 3, []string{})
	session := db.session(t)
	claim(t, session, everything)
	before := db.clock(t) // later than the transaction's now()

	settle(t, session, outbox.Settlement{Published: []int64{1, 2, 4, 6}})

	require.Equal(t, []int64{1, 2, 4, 6}, db.published(t))
	require.Equal(t, untouched, db.text(t, row, 3, []string{}))
	first := postgrestest.Scalar[time.Time](t, db.Database, "SELECT min(published_at) FROM outbox")
	last := postgrestest.Scalar[time.Time](t, db.Database, "SELECT max(published_at) FROM outbox")
	require.False(t, first.Before(before))
	require.False(t, last.After(db.clock(t)))
	require.Equal(t, []int64{3, 5}, db.claimSeqs(t, everything))
}

func TestSettleDefersRows(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 4)
	db.Exec(t, "UPDATE outbox SET attempts = 6, last_error = 'before' WHERE seq = 3")
	changed := []string{"retry_at", "attempts", "last_error"}
	unchanged := db.text(t, row, 3, changed)
	session := db.session(t)
	claim(t, session, everything)
	before := db.clock(t)

	settle(t, session, outbox.Settlement{Deferred: []outbox.Deferral{
		{Seq: 2, Delay: 0, Reason: "at once"},
		{Seq: 3, Attempts: 6, Delay: 90*time.Minute + 250*time.Millisecond, Reason: "InternalFailure: é"},
	}})

	require.Equal(t, unchanged, db.text(t, row, 3, changed))
	require.Equal(t, "7 InternalFailure: é", db.text(t, "SELECT attempts || ' ' || last_error FROM outbox WHERE seq = 3"))
	require.Equal(t, "1 at once", db.text(t, "SELECT attempts || ' ' || last_error FROM outbox WHERE seq = 2"))
	retry := postgrestest.Scalar[time.Time](t, db.Database, "SELECT retry_at FROM outbox WHERE seq = 3").Add(-90*time.Minute - 250*time.Millisecond)
	require.False(t, retry.Before(before))
	require.False(t, retry.After(db.clock(t)))
	require.Empty(t, db.published(t))

	again := claim(t, db.session(t), everything)
	require.Equal(t, []int64{1, 2, 4}, seqsOf(again))
	require.Equal(t, 1, again.Events[1].Attempts)
}

func TestSettleMovesFailedRows(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 2)
	db.Exec(t, `INSERT INTO outbox VALUES (3, '0190163d-8694-739b-aea5-966c26f8ad91', 'order', '4711', 'order.placed', '{"n": 1e400}', '{"h": null}', 'shop',
		'other', '2024-02-29 12:00:00.123456+00', now() - interval '1 day', now() - interval '1 hour', 4, 'before', NULL)`)
	added := []string{"attempts", "last_error", "failed_at", "error_code", "error_message", "times_failed"}
	whole := db.text(t, row, 3, added)
	session := db.session(t)
	claim(t, session, everything)
	before := db.clock(t)

	settle(t, session, outbox.Settlement{Failed: []outbox.Failure{
		{Seq: 3, Code: "MalformedDetail", Message: "Detail is malformed: 'é'"},
		{Seq: 1, Code: "TooLarge", Message: ""},
	}})

	require.Equal(t, []int64{2}, db.seqs(t, "SELECT seq FROM outbox"))
	require.Equal(t, []int64{1, 3}, db.seqs(t, "SELECT seq FROM outbox_failed"))
	require.Equal(t, whole, db.text(t, "SELECT to_jsonb(o) - $2::text[] FROM outbox_failed AS o WHERE seq = $1", 3, added))
	require.JSONEq(t, `["MalformedDetail", "Detail is malformed: 'é'", 5, "MalformedDetail: Detail is malformed: 'é'", 1]`,
		db.text(t, "SELECT jsonb_build_array(error_code, error_message, attempts, last_error, times_failed) FROM outbox_failed WHERE seq = 3"))
	failed := postgrestest.Scalar[time.Time](t, db.Database, "SELECT failed_at FROM outbox_failed WHERE seq = 3")
	require.False(t, failed.Before(before))
	require.False(t, failed.After(db.clock(t)))
}

func TestSettleRecordsEachOutcomeOfABatch(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 5)
	session := db.session(t)
	asked := everything
	asked.Rows = 4
	claim(t, session, asked)

	next, receipt, err := session.Settle(t.Context(), outbox.Settlement{
		Published: []int64{4, 1},
		Deferred:  []outbox.Deferral{{Seq: 2, Delay: time.Hour}},
		Failed:    []outbox.Failure{{Seq: 3, Code: "c", Message: "m"}},
	}, &asked)

	require.NoError(t, err)
	require.True(t, receipt.Committed)
	require.Equal(t, []int64{5}, seqsOf(next))
	require.Equal(t, []int64{1, 4}, db.published(t))
	require.Equal(t, []int64{2}, db.seqs(t, "SELECT seq FROM outbox WHERE attempts = 1 AND retry_at > now()"))
	require.Equal(t, []int64{3}, db.seqs(t, "SELECT seq FROM outbox_failed"))
}

func TestSettleDeletesWhereRowsAreNotKept(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 5)
	session := openSession(t, db.connect, postgres.StoreConfig{Table: publicOutbox, Bus: "events", DeletePublished: true})
	claim(t, session, everything)

	settle(t, session, outbox.Settlement{
		Published: []int64{1, 4},
		Deferred:  []outbox.Deferral{{Seq: 2}},
		Failed:    []outbox.Failure{{Seq: 3}},
	})
	require.Equal(t, []int64{2, 5}, db.seqs(t, "SELECT seq FROM outbox"))

	require.NoError(t, session.Record(t.Context(), outbox.Settlement{Published: []int64{1, 4, 5}}))
	require.Equal(t, []int64{2}, db.seqs(t, "SELECT seq FROM outbox"))
}

func TestSettlingNothingFreesTheRows(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 3)
	session := db.session(t)
	claim(t, session, everything)

	settle(t, session, outbox.Settlement{})
	require.Empty(t, db.published(t))
	require.Equal(t, upTo(3), db.claimSeqs(t, everything))

	claim(t, session, everything)
	next, receipt, err := session.Settle(t.Context(), outbox.Settlement{}, &everything)
	require.NoError(t, err)
	require.True(t, receipt.Committed)
	require.Equal(t, upTo(3), seqsOf(next))
}

// The commit comes before the claim: what is recorded stays recorded.
func TestAFailedClaimLeavesTheSettlingBeforeIt(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 3)
	session := db.session(t)
	claim(t, session, everything)
	db.Exec(t, "REVOKE SELECT ON outbox_paused FROM outbox_relay")

	batch, receipt, err := session.Settle(t.Context(), outbox.Settlement{Published: []int64{1, 2}}, &everything)

	require.ErrorIs(t, err, outbox.ErrRefused)
	require.ErrorContains(t, err, "claim batch: ")
	require.ErrorContains(t, err, "outbox_paused")
	require.True(t, receipt.Committed)
	require.Zero(t, batch)
	require.Equal(t, []int64{1, 2}, db.published(t))
	session.Close(t.Context())
	db.waitForNobody(t)
}

// raising fails when row 7 is marked.
const raising = `
	CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF new.seq = 7 THEN RAISE EXCEPTION 'seven is not to be published'; END IF;
		RETURN new;
	END $$;
	CREATE TRIGGER guard BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION guard()`

// Nothing is recorded, and the error is the trigger's. The rest can be
// recorded in another session, as often as one likes.
func TestARowThatCannotBeMarked(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 20)
	db.Exec(t, raising)
	session := db.session(t)
	claim(t, session, everything)

	_, receipt, err := session.Settle(t.Context(), outbox.Settlement{
		Published: upTo(18),
		Deferred:  []outbox.Deferral{{Seq: 19, Reason: "r"}},
		Failed:    []outbox.Failure{{Seq: 20, Code: "c"}},
	}, &everything)
	require.ErrorIs(t, err, outbox.ErrRefused)
	require.ErrorContains(t, err, "mark published: ")
	require.ErrorContains(t, err, "seven is not to be published")
	require.NotContains(t, err.Error(), "current transaction is aborted")
	require.False(t, receipt.Committed)
	session.Close(t.Context())
	db.waitForNobody(t)
	require.Empty(t, db.published(t))
	require.Equal(t, upTo(20), db.seqs(t, "SELECT seq FROM outbox WHERE attempts = 0"))
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))

	session = db.session(t)
	others := outbox.Settlement{Published: append(upTo(6), between(8, 20)...)}
	require.NoError(t, session.Record(t.Context(), others))
	times := db.text(t, "SELECT jsonb_object_agg(seq, published_at) FROM outbox")
	require.NoError(t, session.Record(t.Context(), others))
	require.Equal(t, times, db.text(t, "SELECT jsonb_object_agg(seq, published_at) FROM outbox"))
	require.Equal(t, others.Published, db.published(t))

	err = session.Record(t.Context(), outbox.Settlement{Published: []int64{7}})
	require.ErrorIs(t, err, outbox.ErrRefused)
	require.ErrorContains(t, err, "seven is not to be published")
}

// Unnoticed, the row would be published again and again.
func TestAChangeThatTheDatabaseDropsIsReported(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		event      string
		settlement outbox.Settlement
	}{
		"Marked":   {"UPDATE", outbox.Settlement{Published: []int64{1, 2}}},
		"Deferred": {"UPDATE", outbox.Settlement{Published: []int64{1}, Deferred: []outbox.Deferral{{Seq: 2}}}},
		"Moved":    {"DELETE", outbox.Settlement{Published: []int64{1}, Failed: []outbox.Failure{{Seq: 2}, {Seq: 3}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newDatabase(t)
			db.pending(t, 3)
			db.Exec(t, `CREATE FUNCTION drop_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
				CREATE TRIGGER drop_change BEFORE `+test.event+` ON outbox FOR EACH ROW WHEN (old.seq = 2) EXECUTE FUNCTION drop_change()`)
			session := db.session(t)
			claim(t, session, everything)

			_, receipt, err := session.Settle(t.Context(), test.settlement, nil)

			require.NoError(t, err)
			require.Equal(t, outbox.Receipt{Committed: true, Missing: []int64{2}}, receipt)
		})
	}
}

// Another relay may have been quicker, and a commit without an answer may have
// taken place.
func TestRecordLeavesWhatIsRecordedAlready(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 6)
	db.Exec(t, `UPDATE outbox SET published_at = '2024-01-01' WHERE seq <= 3; DELETE FROM outbox WHERE seq = 6`)
	session := db.session(t)
	settlement := outbox.Settlement{
		Published: []int64{1, 4, 6, 77},
		Deferred:  []outbox.Deferral{{Seq: 2, Delay: time.Hour, Reason: "r"}},
		Failed:    []outbox.Failure{{Seq: 3, Code: "c"}, {Seq: 5, Code: "c"}},
	}

	for range 2 {
		require.NoError(t, session.Record(t.Context(), settlement))

		require.Equal(t, upTo(4), db.published(t))
		require.Equal(t, upTo(4), db.seqs(t, "SELECT seq FROM outbox"))
		require.Equal(t, 3, db.QueryInt(t, "SELECT count(*) FROM outbox WHERE published_at = '2024-01-01' AND attempts = 0"))
		require.Equal(t, []int64{5}, db.seqs(t, "SELECT seq FROM outbox_failed"))
	}
	require.NoError(t, session.Record(t.Context(), outbox.Settlement{}))
}

// It waits for the locks of a session that has not noticed its end yet, and
// gives up in time. That is no refusal: it may be tried again.
func TestRecordDoesNotWaitForLocksForever(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 1)
	claim(t, db.session(t), everything)

	err := db.session(t).Record(t.Context(), outbox.Settlement{Published: []int64{1}})

	require.ErrorContains(t, err, "SQLSTATE 55P03")
	require.NotErrorIs(t, err, outbox.ErrRefused)
	require.Empty(t, db.published(t))
}

func TestSettlesThousandsOfRowsAtOnce(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 9_000)
	session := db.session(t)
	require.Len(t, claim(t, session, everything).Events, 9_000)
	settlement := outbox.Settlement{Published: upTo(3_000)}
	for seq := int64(3_001); seq <= 6_000; seq++ {
		settlement.Deferred = append(settlement.Deferred, outbox.Deferral{Seq: seq, Delay: time.Hour, Reason: fmt.Sprint("reason ", seq)})
		settlement.Failed = append(settlement.Failed, outbox.Failure{Seq: seq + 3_000, Code: "c", Message: fmt.Sprint("message ", seq+3_000)})
	}

	settle(t, session, settlement)

	require.Equal(t, 3_000, db.QueryInt(t, "SELECT count(*) FROM outbox WHERE published_at IS NOT NULL"))
	require.Equal(t, 3_000, db.QueryInt(t, "SELECT count(*) FROM outbox WHERE last_error = 'reason ' || seq"))
	require.Equal(t, 3_000, db.QueryInt(t, "SELECT count(*) FROM outbox_failed WHERE error_message = 'message ' || seq"))
}

// A commit whose answer was lost may have taken place.
func TestRecordDefersARowOnce(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 2)
	session := db.session(t)
	deferral := outbox.Settlement{Deferred: []outbox.Deferral{{Seq: 1, Delay: time.Hour, Reason: "r"}}}

	require.NoError(t, session.Record(t.Context(), deferral))
	require.NoError(t, session.Record(t.Context(), deferral))
	require.Equal(t, 1, db.QueryInt(t, "SELECT attempts FROM outbox WHERE seq = 1"))

	deferral.Deferred[0].Attempts = outbox.AnyAttempts
	require.NoError(t, session.Record(t.Context(), deferral))
	require.Equal(t, 2, db.QueryInt(t, "SELECT attempts FROM outbox WHERE seq = 1"))
}

// What the failed table does not keep is not deleted.
func TestAnEventIsNotLostWhenTheFailedTableDropsIt(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 2)
	db.Exec(t, `CREATE FUNCTION drop_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
		CREATE TRIGGER drop_change BEFORE INSERT ON outbox_failed FOR EACH ROW WHEN (new.seq = 2) EXECUTE FUNCTION drop_change()`)
	session := db.session(t)
	claim(t, session, everything)

	_, receipt, err := session.Settle(t.Context(), outbox.Settlement{Failed: []outbox.Failure{{Seq: 1}, {Seq: 2}}}, nil)

	require.NoError(t, err)
	require.Equal(t, []int64{2}, receipt.Missing)
	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox WHERE seq = 2 AND published_at IS NULL"))
}

// A trigger can undo a change that the statement has made.
func TestAChangeThatATriggerUndoesIsReported(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 3)
	db.Exec(t, `CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN new.published_at := NULL; new.retry_at := NULL; RETURN new; END $$;
		CREATE TRIGGER undo BEFORE UPDATE ON outbox FOR EACH ROW WHEN (old.seq > 1) EXECUTE FUNCTION undo()`)
	session := db.session(t)
	claim(t, session, everything)

	_, receipt, err := session.Settle(t.Context(), outbox.Settlement{
		Published: []int64{1, 2}, Deferred: []outbox.Deferral{{Seq: 3, Delay: time.Hour}},
	}, nil)

	require.NoError(t, err)
	require.Equal(t, []int64{2, 3}, receipt.Missing)
}

// As after TRUNCATE RESTART IDENTITY, or where failed events were copied back by
// hand. The relay names the event.
func TestSaysWhatToDoWhereTheFailedTableHasTheNumber(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 1)
	db.failed(t, 1)
	session := db.session(t)
	claim(t, session, everything)

	_, _, err := session.Settle(t.Context(), outbox.Settlement{Failed: []outbox.Failure{{Seq: 1}}}, nil)

	require.ErrorIs(t, err, outbox.ErrRefused)
	require.ErrorContains(t, err, `"public"."outbox_failed" has an event of that number (seq) already, which keeps the pending one where it is: `+
		"discard it with the function admin, or give one of them another number")
	_, err = db.admin(t).Discard(t.Context(), all)
	require.NoError(t, err)
	session.Close(t.Context())
	db.condemn(t, 1)
	require.Equal(t, []int64{1}, db.seqs(t, "SELECT seq FROM outbox_failed WHERE error_code = 'MalformedDetail'"))
}
