package postgres_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgrestest"
)

// countDeletions keeps how many rows each statement deletes, and in which
// transaction.
const countDeletions = `
	CREATE TABLE gone (xid xid8, n int);
	CREATE FUNCTION count_deletions() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO public.gone SELECT pg_current_xact_id(), count(*) FROM deleted;
		RETURN NULL;
	END $$;
	CREATE TRIGGER count_deletions AFTER DELETE ON outbox REFERENCING OLD TABLE AS deleted
		FOR EACH STATEMENT EXECUTE FUNCTION count_deletions()`

// A cleanup has much to catch up with, while events are written and published.
func TestCleanupCatchesUpUnderLoad(t *testing.T) {
	t.Parallel()

	const rows, batch = 50_000, 1_000
	db := newCleanupDatabase(t)
	db.expired(t, rows)
	db.Exec(t, "SELECT setval('outbox_seq_seq', $1)", rows)
	db.Exec(t, countDeletions)
	writer := postgrestest.Connect(t, db.CreateLogin(t, "outbox_writer").URL)
	relay := db.as(t, "outbox_relay").session(t)
	var cleaned, written atomic.Bool
	var report outbox.CleanupReport
	var cleanErr, writeErr, relayErr error
	events, published := int64(0), []int64{}

	together(
		func() {
			defer cleaned.Store(true)
			report, cleanErr = db.clean(t, outbox.CleanerConfig{Retention: week, BatchSize: batch})
		},
		func() {
			defer written.Store(true)
			for writeErr == nil && !cleaned.Load() {
				_, writeErr = writer.Exec(t.Context(), "INSERT INTO outbox (event_type, payload) VALUES ('a', '{}'), ('b', '{}')")
				events += 2
			}
		},
		func() {
			for last := false; relayErr == nil && !last; {
				last = written.Load() // then one more drain has them all
				var seqs []int64
				seqs, relayErr = drainAll(t.Context(), relay, 100)
				published = append(published, seqs...)
			}
		},
	)

	require.NoError(t, cleanErr)
	require.NoError(t, writeErr)
	require.NoError(t, relayErr)
	require.Equal(t, outbox.Done, report.Stopped)
	require.Equal(t, rows, report.Deleted)
	require.Equal(t, rows, db.QueryInt(t, "SELECT sum(n) FROM gone"))
	require.LessOrEqual(t, db.QueryInt(t, "SELECT max(n) FROM (SELECT sum(n) AS n FROM gone GROUP BY xid) AS t"), batch)
	slices.Sort(published)
	require.Equal(t, between(rows+1, rows+events), published)
	require.Equal(t, published, db.published(t), "all that was written is there, and marked")
	require.Zero(t, db.QueryInt(t, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))
	t.Logf("%d batches, while %d events were written and published", report.Batches, events)
}
