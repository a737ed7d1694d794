package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// account is everything there is to judge by.
type account struct {
	entries  []entry            // of the ledger
	arrivals []arrival          // at the bus, in order of acceptance
	failures map[string]failure // the failed table, by id
	pending  int                // rows that are neither published nor failed
	runs     runs
	evidence evidence
}

// arrival is an event as the bus accepted it.
type arrival struct {
	id   string
	at   time.Time
	kind string
	data order
}

// verdict is what came of the demo. It counts events.
type verdict struct {
	committed, rolledBack int

	delivered  int // distinct committed events that were accepted
	lost       int // committed, and neither accepted nor failed with a reason
	invented   int // distinct events accepted or failed that were not committed
	duplicates int // acceptances beyond the first
	failed     int // committed, not accepted, and failed with a reason
	altered    int // accepted, and not as they were written
	pending    int
	misjudged  int // failed although nothing was wrong with them
	resent     int // accepted under the kill, and accepted again

	reasons   map[string]int  // failed, by error code
	latencies []time.Duration // from commit to the first acceptance, sorted
	runs      runs
	evidence  evidence
}

// judge finds what became of every event.
func judge(r account) verdict {
	v := verdict{pending: r.pending, runs: r.runs, evidence: r.evidence, reasons: map[string]int{}}
	accepted := map[string][]arrival{}
	for _, a := range r.arrivals {
		accepted[a.id] = append(accepted[a.id], a)
	}
	known := map[string]bool{}
	for _, e := range r.entries {
		switch e.fate {
		case committed:
			known[e.id] = true
			v.judgeCommitted(e, accepted[e.id], r.failures)
		case rolledBack, unknown:
			v.rolledBack++
		}
	}
	v.countInvented(known, accepted, r.failures)
	v.duplicates = len(r.arrivals) - len(accepted)
	for _, id := range r.evidence.cutOff {
		if len(accepted[id]) > 1 {
			v.resent++
		}
	}
	slices.Sort(v.latencies)
	return v
}

func (v *verdict) judgeCommitted(e entry, accepted []arrival, failures map[string]failure) {
	v.committed++
	failure, failed := failures[e.id]
	if failed && (!e.doomed || len(accepted) > 0) {
		v.misjudged++
	}
	switch {
	case len(accepted) > 0:
		v.delivered++
		v.judgeArrivals(e, accepted)
	case failed && failure.code != "" && failure.message != "":
		v.failed++
		v.reasons[failure.code]++
	default:
		v.lost++
	}
}

func (v *verdict) judgeArrivals(e entry, accepted []arrival) {
	if slices.ContainsFunc(accepted, func(a arrival) bool { return a.data != e.data || a.kind != e.kind }) {
		v.altered++
	}
	if !e.committedAt.IsZero() {
		// The bus may have an event before its producer hears of the commit.
		v.latencies = append(v.latencies, max(0, accepted[0].at.Sub(e.committedAt)))
	}
}

func (v *verdict) countInvented(known map[string]bool, accepted map[string][]arrival, failures map[string]failure) {
	for id := range accepted {
		if !known[id] {
			v.invented++
		}
	}
	for id := range failures {
		if !known[id] && len(accepted[id]) == 0 {
			v.invented++
		}
	}
}

// proved reports that the guarantees held, and that they were put to the test.
func (v *verdict) proved() bool { return len(v.problems()) == 0 }

// problems lists what speaks against the relay, and then what speaks against
// the demo itself.
func (v *verdict) problems() []string {
	var found []string
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	report(v.lost > 0, "%d committed events were neither accepted nor failed with a reason", v.lost)
	report(v.invented > 0, "%d events came out that were never committed", v.invented)
	report(v.altered > 0, "%d events did not arrive as they were written", v.altered)
	report(v.misjudged > 0, "%d events are in the failed table that the bus accepted or would have", v.misjudged)
	report(v.pending > 0, "%d rows were still pending %v after the producers stopped", v.pending, drainLimit)
	report(v.runs.crashed > 1, "the relay crashed %d times, and was killed once", v.runs.crashed)
	report(v.committed == 0, "nothing was committed")
	report(v.rolledBack == 0, "nothing was rolled back")
	report(v.failed == 0, "nothing failed, although some events can never be published")
	report(v.resent == 0, "the relay was not killed in mid-batch: nothing that it had sent was sent again")
	for _, name := range v.evidence.unseen {
		report(true, "this had no effect: %s", name)
	}
	return found
}

// percentile is the least duration that so many percent are not above; zero of
// none. The durations are sorted.
func percentile(sorted []time.Duration, percent float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(percent / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}
