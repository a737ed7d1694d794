package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// goodAccount is of a run in which everything went as promised: one event is
// delivered, one is delivered twice because of the kill, two fail, and one is
// rolled back.
func goodAccount() account {
	return account{
		entries: []entry{
			{event: event{id: "once", kind: "OrderPlaced", data: order{Number: 1}}, fate: committed, committedAt: noon},
			{event: event{id: "twice", kind: "OrderPlaced", data: order{Number: 2}}, fate: committed, committedAt: noon},
			{event: event{id: "doomed", source: "aws.demo", doomed: true}, fate: committed, committedAt: noon},
			{event: event{id: "doomed too", doomed: true}, fate: committed, committedAt: noon},
			{event: event{id: "back"}, fate: rolledBack},
		},
		arrivals: []arrival{
			{id: "twice", at: noon.Add(time.Second), kind: "OrderPlaced", data: order{Number: 2}},
			{id: "once", at: noon.Add(3 * time.Second), kind: "OrderPlaced", data: order{Number: 1}},
			{id: "twice", at: noon.Add(5 * time.Second), kind: "OrderPlaced", data: order{Number: 2}},
		},
		failures: map[string]failure{"doomed": {"NotAuthorizedForSourceException", "aws."}, "doomed too": {"InvalidArgument", "too long"}},
		runs:     runs{good: 9, crashed: 1},
		evidence: evidence{cutOff: []string{"twice"}},
	}
}

func TestVerdictCountsWhatBecameOfEveryEvent(t *testing.T) {
	t.Parallel()
	r := goodAccount()

	v := judge(r)

	require.Equal(t, verdict{
		committed: 4, rolledBack: 1, delivered: 2, duplicates: 1, failed: 2, resent: 1,
		reasons:   map[string]int{"InvalidArgument": 1, "NotAuthorizedForSourceException": 1},
		latencies: []time.Duration{time.Second, 3 * time.Second},
		runs:      r.runs, evidence: r.evidence,
	}, v)
	require.Empty(t, v.problems())
	require.True(t, v.proved())
}

func TestVerdictSeesWhatIsNotAsPromised(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		spoil   func(*account)
		problem string
	}{
		{"NeverArrived", func(r *account) { r.arrivals = append(r.arrivals[:1], r.arrivals[2]) }, "1 committed events were neither"},
		{"FailedWithoutReason", func(r *account) { r.failures["doomed"] = failure{"InvalidArgument", ""} }, "1 committed events were neither"},
		{"ArrivedThoughRolledBack", func(r *account) { r.arrivals = append(r.arrivals, arrival{id: "back"}) }, "1 events came out that were never"},
		{"ArrivedFromNowhere", func(r *account) { r.arrivals = append(r.arrivals, arrival{id: ""}) }, "1 events came out that were never"},
		{"FailedThoughRolledBack", func(r *account) { r.failures["back"] = failure{"X", "x"} }, "1 events came out that were never"},
		{"AlteredData", func(r *account) { r.arrivals[1].data.Cents++ }, "1 events did not arrive as they were written"},
		{"AlteredOnlyTheSecondTime", func(r *account) { r.arrivals[2].data.Cents++ }, "1 events did not arrive as they were written"},
		{"AlteredKind", func(r *account) { r.arrivals[1].kind = "Other" }, "1 events did not arrive as they were written"},
		{"FailedThoughAccepted", func(r *account) { r.failures["once"] = failure{"X", "x"} }, "1 events are in the failed table"},
		{"FailedThoughSound", func(r *account) { r.entries[2].doomed = false }, "1 events are in the failed table"},
		{"StillPending", func(r *account) { r.pending = 7 }, "7 rows were still pending 30s after"},
		{"CrashedByItself", func(r *account) { r.runs.crashed = 2 }, "the relay crashed 2 times"},
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

func TestVerdictSeesThatTheDemoProvedNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		spoil   func(*account)
		problem string
	}{
		{"NotKilled", func(r *account) { r.evidence.cutOff = nil }, "not killed in mid-batch"},
		{"KilledAfterSettling", func(r *account) { r.evidence.cutOff = []string{"once"} }, "not killed in mid-batch"},
		{"NothingFailed", func(r *account) { r.entries, r.failures = append(r.entries[:2], r.entries[4]), nil }, "nothing failed"},
		{"NothingRolledBack", func(r *account) { r.entries = r.entries[:4] }, "nothing was rolled back"},
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

	require.Equal(t, []time.Duration{0}, judge(r).latencies)
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
