package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// account is everything there is to judge by.
type account struct {
	entries   []entry    // of the ledger
	arrivals  []arrival  // at the bus, in order of acceptance
	tables    tables     // at the end
	repair    repair     // of what failed
	deletions []deletion // of rows, in order
	lags      []lag      // in order; the last one after everything else
	evidence  evidence

	runs, lag, cleanup runs // of the relay, and of the functions of these names
}

// arrival is an event as the bus accepted it.
type arrival struct {
	id     string
	seq    int64
	at     time.Time
	kind   string
	source string
	data   order
}

// is reports whether it is the event as it has to arrive.
func (a arrival) is(e event) bool {
	a.seq, a.at = 0, time.Time{}
	return a == e.delivered()
}

// verdict is what came of the demo. It counts events.
type verdict struct {
	committed, rolledBack int

	delivered  int // distinct committed events that were accepted
	lost       int // committed, and neither accepted nor failed with a reason
	invented   int // distinct events accepted or failed that were not committed
	duplicates int // acceptances beyond the first
	failed     int // committed, not accepted, and failed with a reason: discarded, or failed still
	altered    int // accepted, and not as they were written or mended
	pending    int
	misjudged  int // failed although nothing was wrong with them
	resent     int // accepted under the kill, and accepted again

	mended     int // failed, moved back and accepted
	renumbered int // of these, those that came with another seq
	unmoved    int // mended ones that admin did not tell of, and the other way about
	wasted     int // discarded although they could be mended
	left       int // in the failed table at the end

	held   int // written for the bus while it was paused
	leaked int // of these, those that were accepted before it was resumed

	deleted, kept int // rows of published events
	hasty         int // rows deleted before they had been kept for long enough
	deletedFailed int // rows of failed events, which are to be kept

	lagMost time.Duration
	lagLast lag // the zero one: never measured

	reasons      map[string]int  // failed at first, by error code
	latencies    []time.Duration // from commit to the first acceptance, sorted; without the mended ones
	evidence     evidence
	runs         runs // of the relay
	lag, cleanup runs
}

// judge finds what became of every event.
func judge(r account) verdict {
	v := verdict{
		pending: r.tables.pending, left: len(r.tables.failures), kept: r.tables.kept,
		runs: r.runs, lag: r.lag, cleanup: r.cleanup, evidence: r.evidence, reasons: map[string]int{},
	}
	accepted := map[string][]arrival{}
	for _, a := range r.arrivals {
		accepted[a.id] = append(accepted[a.id], a)
	}
	known := map[string]bool{}
	for _, e := range r.entries {
		switch e.fate {
		case committed:
			known[e.id] = true
			v.judgeCommitted(e, accepted[e.id], r)
		case rolledBack, unknown:
			v.rolledBack++
		}
	}
	v.countInvented(known, accepted, r)
	v.duplicates = len(r.arrivals) - len(accepted)
	for _, id := range r.evidence.cutOff {
		if len(accepted[id]) > 1 {
			v.resent++
		}
	}
	v.judgeDeletions(r.deletions, accepted)
	v.judgeLags(r.lags, r.repair.began)
	slices.Sort(v.latencies)
	return v
}

func (v *verdict) judgeCommitted(e entry, accepted []arrival, r account) {
	v.committed++
	failure, failed := r.repair.failures[e.id]
	last, left := r.tables.failures[e.id]
	if left {
		failure, failed = last, true
	}
	if failed {
		v.judgeFailure(e, failure, accepted, r.repair)
	}
	v.judgeRepair(e, failed && len(accepted) > 0, r.repair)
	explained := failure.code != "" && failure.message != ""
	switch {
	case len(accepted) > 0:
		v.delivered++
		v.judgeArrivals(e, accepted, r)
	case explained && (left || slices.Contains(r.repair.discarded, e.id)):
		v.failed++
	default:
		v.lost++
	}
}

func (v *verdict) judgeFailure(e entry, failure failure, accepted []arrival, repair repair) {
	v.reasons[failure.code]++
	if e.flaw == sound || len(accepted) > 0 && accepted[0].at.Before(repair.began) {
		v.misjudged++
	}
}

// judgeRepair is told whether the event failed and yet came.
func (v *verdict) judgeRepair(e entry, came bool, repair repair) {
	if slices.Contains(repair.redriven, e.id) != came {
		v.unmoved++
	}
	if slices.Contains(repair.discarded, e.id) && e.flaw != tooLarge {
		v.wasted++
	}
}

func (v *verdict) judgeArrivals(e entry, accepted []arrival, r account) {
	if slices.ContainsFunc(accepted, func(a arrival) bool { return !a.is(e.event) }) {
		v.altered++
	}
	if e.topic == r.evidence.paused.bus && r.evidence.paused.covers(e.openedAt) {
		v.held++
		if r.evidence.paused.covers(accepted[0].at) {
			v.leaked++
		}
	}
	failure, failed := r.repair.failures[e.id]
	switch {
	case failed:
		v.mended++
		if slices.ContainsFunc(accepted, func(a arrival) bool { return a.seq != failure.seq }) {
			v.renumbered++
		}
	case !e.committedAt.IsZero():
		// The bus may have an event before its producer hears of the commit.
		v.latencies = append(v.latencies, max(0, accepted[0].at.Sub(e.committedAt)))
	}
}

func (v *verdict) countInvented(known map[string]bool, accepted map[string][]arrival, r account) {
	out := map[string]bool{}
	for id := range accepted {
		out[id] = true
	}
	for _, failures := range []map[string]failure{r.repair.failures, r.tables.failures} {
		for id := range failures {
			out[id] = true
		}
	}
	for id := range out {
		if !known[id] {
			v.invented++
		}
	}
}

// judgeDeletions holds how many rows were deleted by a time against how many can
// have been published for long enough by then.
func (v *verdict) judgeDeletions(deletions []deletion, accepted map[string][]arrival) {
	for _, d := range deletions {
		ripe := 0
		for _, arrivals := range accepted {
			if !arrivals[0].at.After(d.by.Add(-retention)) {
				ripe++
			}
		}
		v.deleted, v.deletedFailed = d.rows, d.rowsOfFailed
		v.hasty = max(v.hasty, d.rows-ripe)
	}
}

// judgeLags leaves the time of the repair out of the greatest lag: a redriven
// event is as old as it was written.
func (v *verdict) judgeLags(lags []lag, repair time.Time) {
	for _, l := range lags {
		if l.begun.Before(repair) {
			v.lagMost = max(v.lagMost, l.oldest)
		}
		v.lagLast = l
	}
}

// proved reports that the guarantees held, and that they were put to the test.
func (v *verdict) proved() bool { return len(v.problems()) == 0 }

// report collects problems.
type report []string

func (r *report) when(wrong bool, format string, args ...any) {
	if wrong {
		*r = append(*r, fmt.Sprintf(format, args...))
	}
}

// problems lists what speaks against the functions, and then what speaks against
// the demo itself.
func (v *verdict) problems() []string {
	var r report
	v.accuseRelay(&r)
	v.accuseOthers(&r)
	v.accuseDemo(&r)
	return r
}

func (v *verdict) accuseRelay(r *report) {
	r.when(v.lost > 0, "%d committed events were neither accepted nor failed with a reason", v.lost)
	r.when(v.invented > 0, "%d events came out that were never committed", v.invented)
	r.when(v.altered > 0, "%d events did not arrive as they were written or mended", v.altered)
	r.when(v.misjudged > 0, "%d events are in the failed table that the bus accepted or would have", v.misjudged)
	r.when(v.leaked > 0, "%d events went to the bus %s while it was paused", v.leaked, v.evidence.paused.bus)
	r.when(v.pending > 0, "%d rows were still pending %v after the producers stopped", v.pending, drainLimit)
	r.when(v.runs.crashed > 1, "the relay crashed %d times, and was killed once", v.runs.crashed)
}

func (v *verdict) accuseOthers(r *report) {
	r.when(v.left > 0, "%d events are still in the failed table", v.left)
	r.when(v.renumbered > 0, "%d events were redriven and came with another seq", v.renumbered)
	r.when(v.unmoved > 0, "%d events were redriven and never came, or came unasked", v.unmoved)
	r.when(v.wasted > 0, "%d events were discarded that could be mended", v.wasted)
	r.when(v.deleted+v.kept != v.delivered, "%d events were delivered, and of their rows %d were deleted and %d kept", v.delivered, v.deleted, v.kept)
	r.when(v.hasty > 0, "%d rows were deleted before they had been kept for %v", v.hasty, retention)
	r.when(v.deletedFailed > 0, "%d rows of failed events were deleted", v.deletedFailed)
	r.when(v.cleanup.good < v.cleanup.all(), "cleanup failed %d times, at last: %s", v.cleanup.all()-v.cleanup.good, v.cleanup.lastError)
	r.when(v.lag.good < v.lag.all(), "the lag was not measured %d times, at last: %s", v.lag.all()-v.lag.good, v.lag.lastError)
	last := v.lagLast
	r.when(last.oldest > 0 || last.unpublished+last.failed+last.paused > 0,
		"at the end the lag was %v, with %d unpublished, %d failed and %d paused events", last.oldest, last.unpublished, last.failed, last.paused)
}

func (v *verdict) accuseDemo(r *report) {
	r.when(v.committed == 0, "nothing was committed")
	r.when(v.rolledBack == 0, "nothing was rolled back")
	r.when(v.failed == 0, "nothing failed for good, although some events can never be published")
	r.when(v.mended == 0, "nothing that failed was mended and redriven")
	r.when(v.resent == 0, "the relay was not killed in mid-batch: nothing that it had sent was sent again")
	r.when(v.held == 0, "nothing was written for a paused bus")
	r.when(v.deleted == 0, "nothing was deleted")
	r.when(v.lagMost == 0, "no lag was ever measured")
	for _, name := range v.evidence.unseen {
		r.when(true, "this had no effect: %s", name)
	}
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
