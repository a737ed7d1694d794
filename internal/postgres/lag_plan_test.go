package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
)

// lagPlanner explains statements of a measurement.
type lagPlanner struct{ pending, published, failed *planner }

func newLagPlanner(t *testing.T, db *database, cacheMode string) lagPlanner {
	t.Helper()
	begin, settings, pending, failed, published := postgres.LagSQL(publicOutbox)
	return lagPlanner{
		pending:   newPlannerOf(t, db, cacheMode, begin, settings, "(bigint, text, bigint)", pending),
		published: newPlannerOf(t, db, cacheMode, begin, settings, "(timestamptz)", published),
		failed:    newPlannerOf(t, db, cacheMode, begin, settings, "(bigint)", failed),
	}
}

func (p lagPlanner) scan(t *testing.T, scan outbox.LagScan, limit int) (pending, published plan) {
	t.Helper()
	since := "-infinity"
	if !scan.PublishedSince.IsZero() {
		since = scan.PublishedSince.Format(time.RFC3339Nano)
	}
	return p.pending.explainWith(t, fmt.Sprintf("(%d, 'events', %d)", scan.After, limit)), p.published.explainWith(t, "('"+since+"')")
}

// all are the node and those below it, whatever they are for.
func (p plan) all() []plan {
	nodes := []plan{p}
	for _, child := range p.Plans {
		nodes = append(nodes, child.all()...)
	}
	return nodes
}

// requireScans requires that a statement reads the table by these indexes
// alone, each so many times, and sorts nothing.
func requireScans(t *testing.T, whole plan, table string, indexes map[string]int) {
	t.Helper()
	found := map[string]int{}
	for _, node := range whole.all() {
		require.NotContains(t, node.Node, "Sort")
		require.NotContains(t, node.Node, "Bitmap")
		require.NotContains(t, node.Node, "Gather")
		if node.Relation == table {
			require.True(t, strings.HasPrefix(node.Node, "Index"), node.Node)
			found[node.Index]++
		}
	}
	require.Equal(t, indexes, found)
}

// The first row, those that are lag, the one after them, those of paused buses;
// and the last row.
var pendingIndexes = map[string]int{"outbox_pending": 4, "outbox_pkey": 1}

func TestAMeasurementReadsItsIndexesWhateverTheStatisticsSay(t *testing.T) {
	t.Parallel()

	for name, test := range stale {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newLagDatabase(t)
			db.Exec(t, withoutVacuum+test.prepare)
			db.Exec(t, "INSERT INTO outbox_paused (topic) VALUES ('another')")
			db.Exec(t, "INSERT INTO outbox_failed (seq, error_code, error_message) SELECT n, '', '' FROM generate_series(1, 100) AS n")
			for cacheMode, times := range cacheModes(test.floors) {
				planner := newLagPlanner(t, db, cacheMode)
				for i := range times {
					pending, published := planner.scan(t, outbox.LagScan{After: test.floors[i%len(test.floors)]}, 100_000)
					requireScans(t, pending, "outbox", pendingIndexes)
					requireScans(t, published, "outbox", map[string]int{"outbox_published": 1})
					requireScans(t, planner.failed.explainWith(t, "(100000)"), "outbox_failed", map[string]int{"outbox_failed_pkey": 1})
				}
			}
		})
	}
}

// Neither the published rows nor, without a paused bus, those that would be of
// one are walked.
func TestAMeasurementBehindManyPublishedRowsCostsLittle(t *testing.T) {
	t.Parallel()

	const rows = 100_000
	db := newLagDatabase(t)
	db.Exec(t, withoutVacuum+insert+fmt.Sprintf("CASE WHEN n <= %d THEN now() - n * interval '1 second' END FROM generate_series(1, %d) AS n", rows, rows+50))

	pending, published := newLagPlanner(t, db, "auto").scan(t, fromFront, 100_000)

	require.LessOrEqual(t, pending.buffers()+published.buffers(), 100)
	require.Len(t, walks(pending), 2, "the first row, and what is lag")
}

// They are few among many that flow, or there are none.
func TestRowsOfPausedBusesAreNotWalkedToThroughAllOthers(t *testing.T) {
	t.Parallel()

	const limit = 100
	db := newLagDatabase(t)
	db.Exec(t, withoutVacuum+insert+"NULL FROM generate_series(1, 20000) AS n")
	db.Exec(t, "INSERT INTO outbox_paused (topic) VALUES ('another')")

	whole := newLagPlanner(t, db, "auto").pending.explainWith(t, fmt.Sprintf("(%d, 'events', %d)", int64(front), limit))

	var rows []float64
	for _, walk := range walks(whole) {
		rows = append(rows, walk.Rows)
	}
	require.ElementsMatch(t, []float64{1, limit, 1, 2 * limit}, rows, "the first row, lag, one more, and what is looked at for paused rows")
}

// walks are the scans of the pending index that took place.
func walks(whole plan) (taken []plan) {
	for _, node := range whole.all() {
		if node.Index == "outbox_pending" && node.Loops > 0 {
			taken = append(taken, node)
		}
	}
	return taken
}

// recorder keeps what was asked, and takes every scan for one that took long, so
// that none starts from the front of its own accord.
type recorder struct {
	outbox.LagStore

	scans []outbox.LagScan
}

func (r *recorder) Measure(ctx context.Context, scan outbox.LagScan) (outbox.Measurement, error) {
	r.scans = append(r.scans, scan)
	measured, err := r.LagStore.Measure(ctx, scan)
	measured.Took = time.Minute
	return measured, err
}

// A snapshot that is held keeps the entries of published rows, and of deleted
// ones, at the fronts of the indexes. Scaled down from 200,000 rows.
func TestAHeldSnapshotMakesOnlyTheFirstMeasurementDear(t *testing.T) {
	t.Parallel()

	const rows = 20_000
	db := newLagDatabase(t)
	db.Exec(t, withoutVacuum+"INSERT INTO outbox_paused (topic) VALUES ('another')")
	holder := db.Conn(t)
	_, err := holder.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM outbox LIMIT 1", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	publish := func(first, last int) {
		db.Exec(t, insert+"NULL FROM generate_series($1::int, $2::int) AS n", first, last)
		db.Exec(t, "UPDATE outbox SET published_at = clock_timestamp() WHERE published_at IS NULL")
		db.Exec(t, "DELETE FROM outbox WHERE published_at IS NOT NULL AND seq < $1", last)
	}
	store := &recorder{LagStore: db.lagStore()}
	probe := outbox.NewLagProbe(store, slog.New(slog.DiscardHandler))
	cost := func() (pending, published int) {
		_, err := probe.Measure(t.Context())
		require.NoError(t, err)
		planner := newLagPlanner(t, db, "auto")
		first, second := planner.scan(t, store.scans[len(store.scans)-1], limit)
		require.LessOrEqual(t, first.buffers(), walks(first)[0].buffers()+60, "what is walked to the first row is walked once")
		return first.buffers(), second.buffers()
	}

	publish(1, rows) // one is left, nothing is pending
	pendingFront, publishedFront := cost()
	pendingFloor, publishedFloor := cost()
	t.Logf("buffers from the front %d and %d, from the floor %d and %d", pendingFront, publishedFront, pendingFloor, publishedFloor)
	require.Less(t, 10*pendingFloor, pendingFront)
	require.Less(t, 10*publishedFloor, publishedFront)

	db.Exec(t, insert+"NULL FROM generate_series($1::int, $1::int + 9) AS n", rows+1) // ten are pending
	publish(rows+11, 2*rows)
	db.Exec(t, insert+"NULL FROM generate_series($1::int, $1::int + 9) AS n", 2*rows+1)
	cost()
	pending, published := cost()
	require.Less(t, 10*pending, pendingFront)
	require.Less(t, 10*published, publishedFront)

	lag, err := probe.Measure(t.Context())
	require.NoError(t, err)
	require.Equal(t, limit, lag.Unpublished)
	require.EqualValues(t, front, store.scans[0].After)
	for _, scan := range store.scans[1:] {
		require.Positive(t, scan.After)
	}
	require.NoError(t, holder.Close(context.WithoutCancel(t.Context())))
}
