package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
)

// cleanupPlanner explains what a cleanup does with rows of one kind.
type cleanupPlanner struct{ oldest, remove *planner }

func newCleanupPlanner(t *testing.T, db *database, kind outbox.RowKind, cacheMode string) cleanupPlanner {
	t.Helper()
	begin, settings, oldest, remove := postgres.CleanupSQL(publicOutbox, kind)
	settings = strings.ReplaceAll(settings, "$1", "10000")
	return cleanupPlanner{
		newPlannerOf(t, db, cacheMode, begin, settings, "(timestamptz, bigint, bigint, bigint)", oldest),
		newPlannerOf(t, db, cacheMode, begin, settings, "(timestamptz, bigint, timestamptz, bigint, bigint)", remove),
	}
}

// The place after which a cleanup looks, as parameters.
const (
	atFront  = "'-infinity', -9223372036854775808"
	upToWeek = "now() - interval '7 days', 9223372036854775807"
)

// fromRow is after the row with a seq that expired made, whatever its time is.
func (d *database) fromRow(t *testing.T, table, column string, seq int) string {
	t.Helper()
	return fmt.Sprintf("'%s', %d", d.text(t, "SELECT coalesce(max("+column+"), '-infinity') FROM "+table+" WHERE seq = $1", seq), seq)
}

func (p cleanupPlanner) explainOldest(t *testing.T, after string, skip int) plan {
	t.Helper()
	return p.oldest.explainWith(t, fmt.Sprintf("(%s, 604800000000, %d)", after, skip))
}

func (p cleanupPlanner) explainRemove(t *testing.T, after string, rows int) plan {
	t.Helper()
	return p.remove.explainWith(t, fmt.Sprintf("(%s, %s, %d)", after, upToWeek, rows))
}

// requireIndexes requires that a part of a plan reads a table by indexes only, in
// their order, and in one place of the plan.
func requireIndexes(t *testing.T, part plan, table string, indexes ...string) {
	t.Helper()
	scans := 0
	part.each(func(p plan) {
		for _, wrong := range []string{"Sort", "Bitmap", "Hash", "Merge Join", "Seq Scan", "Materialize"} {
			require.NotContains(t, p.Node, wrong)
		}
		if p.Relation != table || p.Node == "ModifyTable" {
			return
		}
		scans++
		require.Contains(t, []string{"Index Scan", "Index Only Scan"}, p.Node)
		require.Contains(t, indexes, p.Index)
	})
	require.Equal(t, 1, scans)
}

func requireCleanupIndexes(t *testing.T, planner cleanupPlanner, table, index, after string, rows int) {
	t.Helper()
	for _, skip := range []int{0, 1, 4096} {
		requireIndexes(t, planner.explainOldest(t, after, skip), table, index)
	}
	whole := planner.explainRemove(t, after, rows)
	requireIndexes(t, whole.locking(t), table, index)
	requireIndexes(t, whole.only(t, "ModifyTable"), table, table+"_pkey", index)
	require.LessOrEqual(t, whole.buffers(), 100+20*rows)
}

const publish = "UPDATE outbox SET published_at = now() - interval '30 days' + seq * interval '1 second'"

func TestTheCleanupReadsItsIndexWhateverTheStatisticsSay(t *testing.T) {
	t.Parallel()

	const old = "now() - interval '30 days' + n * interval '1 second'"
	for name, prepare := range map[string]string{
		"NeverAnalyzed":         insert + old + " FROM generate_series(1, 10000) AS n",
		"NeverAnalyzedAndEmpty": "",
		"AnalyzedEmpty":         "ANALYZE outbox;" + insert + old + " FROM generate_series(1, 10000) AS n",
		"AnalyzedWhenAllWerePending": insert + "NULL FROM generate_series(1, 10000) AS n; ANALYZE outbox; " +
			publish + " WHERE seq <= 9950",
		"AnalyzedWhenAllHadExpired": insert + old + " FROM generate_series(1, 10000) AS n; ANALYZE outbox;" +
			insert + "NULL FROM generate_series(10001, 20000) AS n",
		"AnalyzedWhenNoneHadExpired": insert + "now() FROM generate_series(1, 10000) AS n; ANALYZE outbox;" + publish,
		"AllOfTheSameTime":           insert + "'2024-02-29' FROM generate_series(1, 10000) AS n; ANALYZE outbox",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newCleanupDatabase(t)
			db.Exec(t, withoutVacuum+prepare)
			after := []string{atFront, db.fromRow(t, "outbox", "published_at", 5_000), db.fromRow(t, "outbox", "published_at", 9_900)}
			for cacheMode, times := range map[string]int{
				"auto":               12, // from the sixth on it may choose a generic plan
				"force_generic_plan": len(after),
				"force_custom_plan":  len(after),
			} {
				planner := newCleanupPlanner(t, db, outbox.PublishedEvents, cacheMode)
				for i := range times {
					requireCleanupIndexes(t, planner, "outbox", "outbox_published", after[i%len(after)], []int{500, 1}[i%2])
				}
			}
		})
	}
}

func TestTheCleanupReadsTheIndexesOfFailedEventsAndRedrives(t *testing.T) {
	t.Parallel()

	for name, analyzed := range map[string]string{
		"NeverAnalyzed": "SELECT", "AnalyzedEmpty": "ANALYZE outbox_failed, outbox_redriven", "NeverAnalyzedAndEmpty": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newCleanupDatabase(t)
			db.Exec(t, "ALTER TABLE outbox_failed SET (autovacuum_enabled = off); ALTER TABLE outbox_redriven SET (autovacuum_enabled = off)")
			if analyzed != "" {
				db.Exec(t, analyzed)
				db.failedAndRedriven(t, 5_000)
			}
			for kind, of := range map[outbox.RowKind]struct{ table, column string }{
				outbox.FailedEvents: {"outbox_failed", "failed_at"}, outbox.Redrives: {"outbox_redriven", "redriven_at"},
			} {
				after := []string{atFront, db.fromRow(t, of.table, of.column, 2_500), db.fromRow(t, of.table, of.column, 4_990)}
				for cacheMode, times := range map[string]int{"auto": 12, "force_generic_plan": 3, "force_custom_plan": 3} {
					planner := newCleanupPlanner(t, db, kind, cacheMode)
					for i := range times {
						requireCleanupIndexes(t, planner, of.table, "outbox_"+of.column, after[i%len(after)], 500)
					}
				}
			}
		})
	}
}

// Each partition has its indexes, and their order is merged.
func TestTheCleanupReadsTheIndexesOfPartitions(t *testing.T) {
	t.Parallel()

	db := newDatabaseAs(t, "outbox_cleanup", partitioned+cleanupGrants+
		"CREATE INDEX outbox_published ON outbox (published_at, seq) WHERE published_at IS NOT NULL")
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, created_at, published_at)
		SELECT n, 'a', '{}', '2024-01-01'::timestamptz + n % 80 * interval '1 day', '2024-04-01'::timestamptz + n * interval '1 second'
		FROM generate_series(1, 6000) AS n`)
	for _, cacheMode := range []string{"force_generic_plan", "force_custom_plan"} {
		planner := newCleanupPlanner(t, db, outbox.PublishedEvents, cacheMode)
		for _, after := range []string{atFront, db.fromRow(t, "outbox", "published_at", 3_000)} {
			whole := planner.explainRemove(t, after, 500)
			for _, part := range []plan{planner.explainOldest(t, after, 0), planner.explainOldest(t, after, 1024), whole.locking(t), whole.only(t, "ModifyTable")} {
				part.each(func(p plan) {
					for _, wrong := range []string{"Sort", "Bitmap", "Hash", "Merge Join", "Seq Scan"} {
						require.NotContains(t, p.Node, wrong)
					}
				})
			}
			require.LessOrEqual(t, whole.buffers(), 20_000)
		}
	}
}

// A snapshot that is held keeps the entries of deleted rows in the index. A batch
// that goes on from the last one walks none of them, also among rows of the same
// time. Scaled down from 1,000,000 rows.
func TestAHeldSnapshotMakesNoBatchOfACleanupDearer(t *testing.T) {
	t.Parallel()

	for name, at := range map[string]string{"ATimeEach": "'2024-02-29'::timestamptz + n * interval '1 second'", "OneTimeForAll": "'2024-02-29'"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			const rows, batch = 20_000, 2_000
			db := newCleanupDatabase(t)
			db.Exec(t, withoutVacuum)
			db.Exec(t, insert+at+fmt.Sprintf(" FROM generate_series(1, %d) AS n", rows+10))
			holder := db.Conn(t)
			_, err := holder.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM outbox LIMIT 1", pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			planner := newCleanupPlanner(t, db, outbox.PublishedEvents, "auto")
			session, asked := db.cleanupSession(t), deletion(batch)

			var fromTheFront, fromTheLast, searches []int
			for gone := batch; gone <= rows; gone += batch {
				deleted, err := session.Delete(t.Context(), asked)
				require.NoError(t, err)
				require.Equal(t, []int{batch, batch}, []int{deleted.Locked, deleted.Deleted})
				require.Equal(t, int64(gone), deleted.Last.Seq)
				asked.After = deleted.Last
				var last string
				require.NoError(t, holder.QueryRow(t.Context(), "SELECT published_at::text FROM outbox WHERE seq = $1", gone).Scan(&last))
				fromTheFront = append(fromTheFront, planner.explainRemove(t, atFront, 5).locking(t).buffers())
				fromTheLast = append(fromTheLast, planner.explainRemove(t, fmt.Sprintf("'%s', %d", last, gone), 5).buffers())
				searches = append(searches, planner.explainOldest(t, atFront, 0).buffers())
			}

			t.Logf("buffers from the front %v, from the last row %v, of a search %v", fromTheFront, fromTheLast, searches)
			require.LessOrEqual(t, slices.Max(fromTheLast), fromTheLast[0]+20)
			require.Greater(t, fromTheFront[len(fromTheFront)-1], 4*fromTheFront[0], "the entries are gone, so nothing is shown")
			require.NoError(t, holder.Close(context.WithoutCancel(t.Context())))
		})
	}
}
