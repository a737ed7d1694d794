package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgres"
)

// adminPlans are the indexes by which the statements of an operator's actions
// read, each as often as it stands there. The present ones read the outbox and
// no failed events, the others failed events and not the outbox.
var adminPlans = map[string]struct {
	types          string
	params         []string
	outbox, failed map[string]int
}{
	"find":    {filterTypes, filterParams, none, map[string]int{"outbox_failed_pkey": 1}},
	"lock":    {filterTypes, filterParams, none, map[string]int{"outbox_failed_pkey": 1}},
	"present": {"(bigint[])", seqParams, map[string]int{"outbox_pkey": 1}, none},
	"redrive": {"(bigint[])", seqParams, none, map[string]int{"outbox_failed_pkey": 2}},
	"discard": {"(bigint[])", seqParams, none, map[string]int{"outbox_failed_pkey": 1}},
}

// adminWalks are statements that may have to look at every failed event, once: no
// index has the ids, and only some filters have one.
var adminWalks = map[string]struct {
	types  string
	params []string
}{
	"count": {filterTypes, filterParams},
	"known": {"(text[])", []string{"('{00000000-0000-0000-0000-000000100007}')", "('" + manyIDs + "')"}},
}

// manyIDs are as many as may be named. Half of them are missing.
var manyIDs = "{" + strings.Join(ids(between(101_501, 102_500)...), ",") + "}"

var none = map[string]int{}

const filterTypes = "(text[], text, text, timestamptz, bigint)"

var (
	filterParams = []string{
		"('{}', '', '', '-infinity', 100)",
		"('{00000000-0000-0000-0000-000000100007}', '', '', '-infinity', 100)",
		"('" + manyIDs + "', '', '', '-infinity', 1000)",
		"('{}', 'order.placed', '', '-infinity', 100)",
		"('{}', '', 'TooLarge', '2030-01-01', 100)",
	}
	seqParams = []string{"('{100001}')", "('{100001,100002,100003}')", "('{" + strings.Repeat("100004,", 999) + "100005}')"}
)

const failedEvents = 2000

// The statistics of both tables are old.
func TestAnActionReadsItsIndexesWhateverTheStatisticsSay(t *testing.T) {
	t.Parallel()

	failing := fmt.Sprintf(`INSERT INTO outbox_failed (seq, id, event_type, payload, created_at, failed_at, error_code, error_message)
		SELECT 100000 + n, ('00000000-0000-0000-0000-' || lpad((100000 + n)::text, 12, '0'))::uuid, 'order.placed', '{}', now(), now(), 'TooLarge', 'no'
		FROM generate_series(1, %d) AS n;`, failedEvents)
	states := map[string]string{
		"FailedNeverAnalyzed": failing,
		"FailedAnalyzedEmpty": "ANALYZE outbox_failed;" + failing,
		"FailedAnalyzedFull":  failing + "ANALYZE outbox_failed; DELETE FROM outbox_failed WHERE seq > 101010",
	}
	for outbox, test := range stale {
		for failed, state := range states {
			if outbox != "AnalyzedEmpty" && failed != "FailedAnalyzedEmpty" {
				continue // one statement reads one of the tables
			}
			t.Run(outbox+failed, func(t *testing.T) {
				t.Parallel()

				db := newDatabaseAs(t, "outbox_admin", postgres.Schema(publicOutbox))
				db.Exec(t, withoutVacuum+"ALTER TABLE outbox_failed SET (autovacuum_enabled = off);"+test.prepare)
				db.Exec(t, state)
				for cacheMode, times := range cacheModes(test.floors) {
					requireAdminPlans(t, db, cacheMode, times)
					requireAdminWalks(t, db, cacheMode)
				}
			})
		}
	}
}

func requireAdminPlans(t *testing.T, db *database, cacheMode string, times int) {
	t.Helper()
	begin, settings, statements := postgres.AdminSQL(publicOutbox)
	require.Len(t, statements, len(adminPlans)+len(adminWalks))
	for name, want := range adminPlans {
		planner := newPlannerOf(t, db, cacheMode, begin, settings, want.types, statements[name])
		for i := range max(times, len(want.params)) {
			whole := planner.explainWith(t, want.params[i%len(want.params)])
			requireScans(t, reading(whole), "outbox", want.outbox)
			requireScans(t, reading(whole), "outbox_failed", want.failed)
		}
		require.NoError(t, planner.conn.Close(t.Context()))
	}
}

// requireAdminWalks requires that no failed event is looked at twice, or once for
// each of the ids.
func requireAdminWalks(t *testing.T, db *database, cacheMode string) {
	t.Helper()
	begin, settings, statements := postgres.AdminSQL(publicOutbox)
	for name, want := range adminWalks {
		planner := newPlannerOf(t, db, cacheMode, begin, settings, want.types, statements[name])
		for i := range 12 {
			scans := 0
			for _, node := range planner.explainWith(t, want.params[i%len(want.params)]).all() {
				require.NotContains(t, node.Node, "Sort")
				require.NotContains(t, node.Filter, "$", "the parameters are known")
				require.LessOrEqual(t, int(node.Rows)*node.Loops, failedEvents, "%s of %s", node.Node, name)
				if node.Relation == "outbox_failed" {
					scans += node.Loops
				}
			}
			require.Equal(t, 1, scans, name)
		}
		require.NoError(t, planner.conn.Close(t.Context()))
	}
}

// reading is a plan in which the nodes that write a table name none.
func reading(p plan) plan {
	if p.Node == "ModifyTable" {
		p.Relation = ""
	}
	below := make([]plan, len(p.Plans))
	for i, child := range p.Plans {
		below[i] = reading(child)
	}
	p.Plans = below
	return p
}
