package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// goodAccount is of a run in which everything went as promised: one event is
// delivered, one is delivered twice because of the kill, one waits for a paused
// bus, two fail and are mended, two are discarded and one is rolled back.
func goodAccount() account {
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	placed := func(id string, n, opened int) entry {
		return entry{event: event{id: id, kind: "OrderPlaced", topic: ordersBus, data: order{Number: n}}, fate: committed, openedAt: at(opened), committedAt: at(opened)}
	}
	entries := []entry{
		placed("once", 1, 0), placed("twice", 2, 0), placed("held", 3, 6), placed("source", 4, 0), placed("kind", 5, 0), placed("large", 6, 0),
		placed("huge", 7, 0),
		{event: event{id: "back"}, fate: rolledBack},
	}
	entries[3].flaw, entries[3].source = reservedSource, "aws.demo"
	entries[4].flaw, entries[4].kind = longKind, "OrderPlaced/xxx"
	entries[5].flaw, entries[6].flaw = tooLarge, tooLarge
	arrived := func(id string, n, seconds int) arrival {
		return arrival{id: id, seq: int64(n), at: at(seconds), kind: "OrderPlaced", source: defaultSource, data: order{Number: n}}
	}
	arrivals := []arrival{
		arrived("twice", 2, 1), arrived("once", 1, 3), arrived("twice", 2, 5), arrived("held", 3, 8), arrived("source", 4, 10), arrived("kind", 5, 10),
	}
	arrivals[4].source = "shop.demo"
	return account{
		entries:  entries,
		arrivals: arrivals,
		tables:   tables{kept: 4},
		repair: repair{
			failures: map[string]failure{
				"source": {4, "NotAuthorizedForSourceException", "aws."}, "kind": {5, "InvalidArgument", "too long"}, "large": {6, tooLargeCode, "1 GB"}, "huge": {7, tooLargeCode, "2 GB"},
			},
			began: at(9), discarded: []string{"large", "huge"}, redriven: []string{"source", "kind"},
		},
		deletions: []deletion{{by: at(4), rows: 1}, {by: at(7), rows: 1}},
		lags:      []lag{{begun: at(2), oldest: 2 * time.Second, unpublished: 3, failed: 2, paused: 1}, {begun: at(11)}},
		runs:      runs{good: 9, crashed: 1},
		lag:       runs{good: 2},
		cleanup:   runs{good: 2},
		evidence:  evidence{cutOff: []string{"twice"}, paused: pause{bus: ordersBus, from: at(5), to: at(7)}},
	}
}

func TestVerdictCountsWhatBecameOfEveryEvent(t *testing.T) {
	t.Parallel()
	r := goodAccount()

	v := judge(r)

	require.Equal(t, verdict{
		committed: 7, rolledBack: 1, delivered: 5, duplicates: 1, failed: 2, resent: 1, mended: 2, held: 1, deleted: 1, kept: 4,
		lagMost: 2 * time.Second, lagLast: r.lags[1],
		reasons:   map[string]int{"InvalidArgument": 1, "NotAuthorizedForSourceException": 1, tooLargeCode: 2},
		latencies: []time.Duration{time.Second, 2 * time.Second, 3 * time.Second},
		runs:      r.runs, lag: r.lag, cleanup: r.cleanup, evidence: r.evidence,
	}, v)
	require.Empty(t, v.problems())
	require.True(t, v.proved())
	require.Equal(t, v.committed, v.delivered+v.failed)
}

func TestVerdictSeesWhatIsNotAsPromised(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		spoil   func(*account)
		problem string
	}{
		{"NeverArrived", func(r *account) { r.arrivals = slices.Delete(r.arrivals, 1, 2); r.tables.kept-- }, "1 committed events were neither"},
		{"DiscardedWithoutReason", func(r *account) { r.repair.failures["large"] = failure{6, tooLargeCode, ""} }, "1 committed events were neither"},
		{"FailedAndThenGone", func(r *account) { r.repair.discarded = r.repair.discarded[:1] }, "1 committed events were neither"},
		{"ArrivedThoughRolledBack", func(r *account) { r.arrivals = append(r.arrivals, arrival{id: "back"}) }, "1 events came out that were never"},
		{"ArrivedFromNowhere", func(r *account) { r.arrivals = append(r.arrivals, arrival{id: ""}) }, "1 events came out that were never"},
		{"FailedThoughRolledBack", func(r *account) { r.repair.failures["back"] = failure{7, "X", "x"} }, "1 events came out that were never"},
		{"AlteredData", func(r *account) { r.arrivals[1].data.Cents++ }, "1 events did not arrive as they were written"},
		{"AlteredOnlyTheSecondTime", func(r *account) { r.arrivals[2].data.Cents++ }, "1 events did not arrive as they were written"},
		{"AlteredKind", func(r *account) { r.arrivals[1].kind = "Other" }, "1 events did not arrive as they were written"},
		{"AlteredSource", func(r *account) { r.arrivals[1].source = "other" }, "1 events did not arrive as they were written"},
		{"NotMended", func(r *account) { r.arrivals[4].source = "aws.demo" }, "1 events did not arrive as they were written or mended"},
		{"FailedBesideBeingAccepted", func(r *account) { r.arrivals[4].at = noon }, "1 events are in the failed table"},
		{"FailedThoughSound", func(r *account) {
			r.entries[3].flaw, r.entries[3].source, r.arrivals[4].source = sound, "", defaultSource
		}, "1 events are in the failed table"},
		{"PublishedThoughPaused", func(r *account) { r.arrivals[3].at = noon.Add(6500 * time.Millisecond) }, "1 events went to the bus orders while"},
		{"StillPending", func(r *account) { r.tables.pending = 7 }, "7 rows were still pending 30s after"},
		{"CrashedByItself", func(r *account) { r.runs.crashed = 2 }, "the relay crashed 2 times"},
		{"LeftInTheFailedTable", func(r *account) {
			r.tables.failures = map[string]failure{"large": r.repair.failures["large"]}
		}, "1 events are still in the failed table"},
		{"RedrivenWithAnotherSeq", func(r *account) { r.arrivals[4].seq++ }, "1 events were redriven and came with another seq"},
		{"CameWithoutBeingRedriven", func(r *account) { r.repair.redriven = r.repair.redriven[:1] }, "1 events were redriven and never came, or came unasked"},
		{"RedrivenWithoutHavingFailed", func(r *account) { r.repair.redriven = append(r.repair.redriven, "once") }, "or came unasked"},
		{"DiscardedThoughMendable", func(r *account) { r.repair.discarded = append(r.repair.discarded, "kind") }, "1 events were discarded that could be mended"},
		{"RowsVanished", func(r *account) { r.tables.kept-- }, "5 events were delivered, and of their rows 1 were deleted and 3 kept"},
		{"RowsDeletedEarly", func(r *account) { r.deletions[0].by = noon.Add(3999 * time.Millisecond) }, "1 rows were deleted before they had been kept for 3s"},
		{"FailedRowsDeleted", func(r *account) { r.deletions[1].rowsOfFailed = 1 }, "1 rows of failed events were deleted"},
		{"CleanupFailed", func(r *account) { r.cleanup.failed("CleanupError: x") }, "cleanup failed 1 times, at last: CleanupError: x"},
		{"LagFailed", func(r *account) { r.lag.failed("LagError: x") }, "the lag was not measured 1 times, at last: LagError: x"},
		{"LagAtTheEnd", func(r *account) { r.lags[1].oldest = time.Second }, "at the end the lag was 1s, with 0 unpublished, 0 failed and 0 paused"},
		{"FailedAtTheEnd", func(r *account) { r.lags[1].failed = 2 }, "at the end the lag was 0s, with 0 unpublished, 2 failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := goodAccount()
			test.spoil(&r)

			v := judge(r)

			require.Len(t, v.problems(), 1)
			require.Contains(t, v.problems()[0], test.problem)
			require.False(t, v.proved())
		})
	}
}

// What was moved back and never came is lost, and admin is not to be believed.
func TestVerdictSeesWhatWasRedrivenAndNeverCame(t *testing.T) {
	t.Parallel()
	r := goodAccount()
	r.arrivals = slices.Delete(r.arrivals, 4, 5)
	r.tables.kept--

	v := judge(r)

	require.Equal(t, []string{
		"1 committed events were neither accepted nor failed with a reason",
		"1 events were redriven and never came, or came unasked",
	}, v.problems())
}

func TestVerdictSeesThatTheDemoProvedNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		spoil   func(*account)
		problem string
	}{
		{"NotKilled", func(r *account) { r.evidence.cutOff = nil }, "not killed in mid-batch"},
		{"KilledAfterSettling", func(r *account) { r.evidence.cutOff = []string{"once"} }, "not killed in mid-batch"},
		{"NothingFailed", func(r *account) {
			r.entries = slices.Delete(r.entries, 5, 7)
			delete(r.repair.failures, "large")
			delete(r.repair.failures, "huge")
		}, "nothing failed"},
		{"NothingMended", func(r *account) {
			r.entries, r.arrivals = slices.Delete(r.entries, 3, 5), r.arrivals[:4]
			r.repair.redriven = nil
			delete(r.repair.failures, "source")
			delete(r.repair.failures, "kind")
			r.tables.kept -= 2
		}, "nothing that failed was mended"},
		{"NothingRolledBack", func(r *account) { r.entries = r.entries[:7] }, "nothing was rolled back"},
		{"NothingHeldBack", func(r *account) { r.evidence.paused.to = r.evidence.paused.from }, "nothing was written for a paused bus"},
		{"NothingDeleted", func(r *account) { r.deletions, r.tables.kept = nil, 5 }, "nothing was deleted"},
		{"NoLag", func(r *account) { r.lags[0].oldest = 0 }, "no lag was ever measured"},
		{"NoThrottle", func(r *account) { r.evidence.unseen = []string{"the bus throttles"} }, "no effect: the bus throttles"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := goodAccount()
			test.spoil(&r)

			v := judge(r)

			require.Len(t, v.problems(), 1)
			require.Contains(t, v.problems()[0], test.problem)
			require.False(t, v.proved())
		})
	}
}

func TestGreatestLagIsNotThatOfRedrivenEvents(t *testing.T) {
	t.Parallel()
	r := goodAccount()
	r.lags = slices.Insert(r.lags, 1, lag{begun: r.repair.began, oldest: time.Minute, unpublished: 2})

	v := judge(r)

	require.Equal(t, 2*time.Second, v.lagMost)
	require.Empty(t, v.problems())
}

func TestAnEmptyRecordProvesNothing(t *testing.T) {
	t.Parallel()
	v := judge(account{})
	require.False(t, v.proved())
	require.Contains(t, v.problems(), "nothing was committed")
}

func TestLatencyIsNeverNegativeAndLeavesOutUnknownCommits(t *testing.T) {
	t.Parallel()
	r := goodAccount()
	r.entries[0].committedAt = noon.Add(time.Hour) // its producer heard late of it
	r.entries[1].committedAt = time.Time{}

	require.Equal(t, []time.Duration{0, 2 * time.Second}, judge(r).latencies)
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	require.EqualValues(t, 50, percentile(hundred, 50))
	require.EqualValues(t, 99, percentile(hundred, 99))
	require.EqualValues(t, 100, percentile(hundred, 100))
	require.EqualValues(t, 1, percentile(hundred, 0))
	require.EqualValues(t, 2, percentile(hundred[:3], 50))
	require.Zero(t, percentile(nil, 50))
}
