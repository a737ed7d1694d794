package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// plan is a node of EXPLAIN's answer.
type plan struct {
	Node         string  `json:"Node Type"`
	Relationship string  `json:"Parent Relationship"`
	Relation     string  `json:"Relation Name"`
	Index        string  `json:"Index Name"`
	Filter       string  `json:"Filter"`
	Rows         float64 `json:"Actual Rows"` // by loop; since PostgreSQL 18 with a fraction
	Loops        int     `json:"Actual Loops"`
	Hit          int     `json:"Shared Hit Blocks"`
	Read         int     `json:"Shared Read Blocks"`
	Plans        []plan
}

// each calls visit for the node and those below that it draws its rows from.
func (p plan) each(visit func(plan)) {
	visit(p)
	for _, child := range p.Plans {
		if child.Relationship != "InitPlan" && child.Relationship != "SubPlan" {
			child.each(visit)
		}
	}
}

// buffers are the pages of 8 kB that were looked at.
func (p plan) buffers() int { return p.Hit + p.Read }

// locking is the part of a claim that locks rows.
func (p plan) locking(t *testing.T) plan {
	t.Helper()
	return p.only(t, "LockRows")
}

// only finds the one node of a kind, wherever it is.
func (p plan) only(t *testing.T, node string) plan {
	t.Helper()
	var found []plan
	var search func(plan)
	search = func(p plan) {
		if p.Node == node {
			found = append(found, p)
		}
		for _, child := range p.Plans {
			search(child)
		}
	}
	search(p)
	require.Len(t, found, 1)
	return found[0]
}

// planner explains a statement as a function's login, with its settings.
type planner struct {
	conn            *pgx.Conn
	begin, settings string
}

// newPlanner explains claims.
func newPlanner(t *testing.T, db *database, cacheMode string) *planner {
	t.Helper()
	begin, settings, statement := postgres.ClaimSQL(publicOutbox)
	return newPlannerOf(t, db, cacheMode, begin, settings, "(bigint, text, text[], bigint[], bigint, bigint, bigint)", statement)
}

// newPlannerOf explains a statement with parameters of these types.
func newPlannerOf(t *testing.T, db *database, cacheMode, begin, settings, types, statement string) *planner {
	t.Helper()
	conn := postgrestest.Connect(t, db.login.URL)
	for _, sql := range []string{
		"SET plan_cache_mode = " + cacheMode,
		"PREPARE explained " + types + " AS " + statement,
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	return &planner{conn, begin, settings}
}

// explain explains a claim.
func (p *planner) explain(t *testing.T, floor int64, rows int) plan {
	t.Helper()
	return p.explainWith(t, fmt.Sprintf("(%d, 'events', '{resting,another}', '{17,18}', %d, 4194304, 1000000)", floor, rows))
}

func (p *planner) explainWith(t *testing.T, params string) plan {
	t.Helper()
	for _, sql := range []string{p.begin, p.settings} {
		_, err := p.conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	var text []byte
	require.NoError(t, p.conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE explained "+params).Scan(&text))
	_, err := p.conn.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	var explained []struct{ Plan plan }
	require.NoError(t, json.Unmarshal(text, &explained))
	return explained[0].Plan
}

// requirePendingIndex requires that a claim reads the pending index in its order, and
// nothing of the outbox besides.
func requirePendingIndex(t *testing.T, whole plan) {
	t.Helper()
	scans := 0
	whole.locking(t).each(func(p plan) {
		require.NotContains(t, p.Node, "Sort")
		require.NotContains(t, p.Node, "Bitmap")
		if p.Relation == "" {
			return
		}
		scans++
		require.Equal(t, []string{"Index Scan", "outbox", "outbox_pending"}, []string{p.Node, p.Relation, p.Index})
	})
	require.Equal(t, 1, scans)
}

// requirePendingIndexes requires the same of a claim from tables that other
// names have: it reads so many indexes, each in its order, and they are of
// pending rows.
func requirePendingIndexes(t *testing.T, db *database, number int) {
	t.Helper()
	planner, scans := newPlanner(t, db, "auto"), 0
	planner.explain(t, front, 500).locking(t).each(func(p plan) {
		require.NotContains(t, p.Node, "Sort")
		require.NotContains(t, p.Node, "Bitmap")
		if p.Relation == "" {
			return
		}
		scans++
		require.Equal(t, "Index Scan", p.Node)
		require.Equal(t, "(published_at IS NULL)", db.text(t, "SELECT pg_get_expr(indpred, indrelid) FROM pg_index WHERE indexrelid = $1::regclass", p.Index))
	})
	require.Equal(t, number, scans)
}

const (
	withoutVacuum = "ALTER TABLE outbox SET (autovacuum_enabled = off);"
	insert        = "INSERT INTO outbox (seq, event_type, payload, published_at) SELECT n, 'order.placed', jsonb_build_object('n', n), "
)

// stale are tables whose statistics are from another time, which is what goes
// wrong, and floors to begin at. Scaled down from the 2,000,000 rows of the
// incidents it stands for.
var stale = map[string]struct {
	prepare string
	floors  []int64
}{
	"NeverAnalyzed": {
		insert + "NULL FROM generate_series(1, 20000) AS n", []int64{front, 10_000, 19_990, 30_000},
	},
	"NeverAnalyzedAndEmpty": {"", []int64{front, 0}},
	"AnalyzedEmpty": {
		"ANALYZE outbox;" + insert + "NULL FROM generate_series(1, 20000) AS n", []int64{front, 10_000, 19_990},
	},
	"AnalyzedWhenAllWerePending": {
		insert + "NULL FROM generate_series(1, 20000) AS n; ANALYZE outbox; UPDATE outbox SET published_at = now() WHERE seq <= 19950",
		[]int64{front, 10_000, 19_950, 19_990},
	},
	"AnalyzedWhenNearlyNoneWerePending": {
		insert + "CASE WHEN n <= 20000 THEN now() END FROM generate_series(1, 20010) AS n; ANALYZE outbox;" +
			insert + "NULL FROM generate_series(20011, 40000) AS n",
		[]int64{front, 20_000, 30_000, 39_990},
	},
	"AnalyzedWhenNoneWerePending": {
		insert + "now() FROM generate_series(1, 20000) AS n; ANALYZE outbox;" + insert + "NULL FROM generate_series(20001, 20050) AS n",
		[]int64{front, 20_000, 20_040},
	},
}

// cacheModes are the ways to plan a statement, and how often it is to be run.
// From the sixth on a generic plan may be chosen.
func cacheModes(floors []int64) map[string]int {
	return map[string]int{"auto": 12, "force_generic_plan": len(floors), "force_custom_plan": len(floors)}
}

func TestTheClaimReadsThePendingIndexWhateverTheStatisticsSay(t *testing.T) {
	t.Parallel()

	for name, test := range stale {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newDatabase(t)
			db.Exec(t, withoutVacuum+test.prepare)
			for cacheMode, times := range cacheModes(test.floors) {
				planner := newPlanner(t, db, cacheMode)
				for i := range times {
					requirePendingIndex(t, planner.explain(t, test.floors[i%len(test.floors)], 500))
				}
			}
		})
	}
}

// 50 pending rows behind many published ones, also where those have left
// entries in the pending index. Scaled down from 2,000,000 rows.
func TestAFewPendingRowsBehindManyPublishedCostLittle(t *testing.T) {
	t.Parallel()

	const published = 200_000
	db := newDatabase(t)
	db.Exec(t, withoutVacuum+insert+fmt.Sprintf("CASE WHEN n <= %d THEN now() END FROM generate_series(1, %d) AS n", published, published+50))

	planner, explained := newPlanner(t, db, "auto"), 0
	for _, floor := range []int64{front, published, published + 40} {
		whole := planner.explain(t, floor, 500)
		requirePendingIndex(t, whole)
		require.Equal(t, min(50, int(published+50-max(floor, published))), int(whole.Rows))
		require.LessOrEqual(t, whole.buffers(), 100, "from %d", floor)
		explained += int(whole.Rows)
	}
	require.NoError(t, planner.conn.Close(t.Context()))

	session := db.session(t)
	drained, err := drainAll(t.Context(), session, 7)
	require.NoError(t, err)
	session.Close(t.Context())
	db.waitForNobody(t) // a session that ends hands in its counts
	require.Equal(t, between(published+1, published+50), drained)
	const read = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relid = 'outbox'::regclass"
	// Up to PostgreSQL 14 the counts of both sessions show with a delay.
	require.Eventually(t, func() bool { return db.QueryInt(t, read) >= explained+50 }, patience, tick)
	require.Less(t, db.QueryInt(t, read), 10_000)
}

// A snapshot that is held keeps the entries of published rows in the
// index. A claim from the floor walks none of them. Scaled down from 200,000 rows.
func TestAHeldSnapshotMakesOnlyScansFromTheFrontDearer(t *testing.T) {
	t.Parallel()

	const rows, batch = 20_000, 2_000
	db := newDatabase(t)
	db.Exec(t, withoutVacuum)
	db.pending(t, rows+10)
	holder := db.Conn(t)
	_, err := holder.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM outbox LIMIT 1", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	planner := newPlanner(t, db, "auto")
	session, asked := db.session(t), everything
	asked.Rows = batch

	var fromFront, fromFloor []int
	for published := int64(0); published < rows; published += batch {
		asked.After = published
		found := seqsOf(claim(t, session, asked))
		require.Equal(t, between(published+1, published+batch), found)
		settle(t, session, outbox.Settlement{Published: found})
		fromFront = append(fromFront, planner.explain(t, front, 5).locking(t).buffers())
		fromFloor = append(fromFloor, planner.explain(t, published+batch, 5).locking(t).buffers())
	}

	t.Logf("buffers from the front %v, from the floor %v", fromFront, fromFloor)
	require.LessOrEqual(t, slices.Max(fromFloor), fromFloor[0]+20)
	require.Greater(t, fromFront[len(fromFront)-1], 4*fromFront[0])
	require.NoError(t, holder.Close(context.WithoutCancel(t.Context())))
}
