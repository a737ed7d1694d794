package outbox

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Stopped says why a run ended.
type Stopped string

// A run ends when there is nothing left to do, or no time to do it in.
const (
	Drained   Stopped = "drained"
	Done      Stopped = "done" // of a cleanup
	OutOfTime Stopped = "budget"
)

// Report is what a run did.
type Report struct {
	Published int // events accepted and recorded
	Failed    int // events moved to the failed table
	Deferred  int // times that an entry was left for later because it, its request or its bus failed
	Batches   int // batches settled
	Stopped   Stopped
	Duration  time.Duration
	// HandedOver: the run ended because newer ones were at work. Stopped says
	// whether it left anything.
	HandedOver bool

	// Latencies of up to 1,000 accepted events, picked at random: from
	// CreatedAt to the acceptance.
	Latencies []time.Duration
	// BatchDurations of up to 1,000 batches, picked at random: from the claim
	// to the settling.
	BatchDurations []time.Duration
}

// report collects the Report of a run, from all of its workers.
type report struct {
	mu        sync.Mutex
	total     Report
	latencies sample
	batches   sample
}

// accepted notes an event that the bus has.
func (r *report) accepted(latency time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies.add(max(0, latency)) // created_at may be in the future
}

// settled notes a batch and what was recorded of it.
func (r *report) settled(settlement Settlement, took time.Duration) {
	r.recorded(settlement)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.Batches++
	r.batches.add(took)
}

// recorded notes outcomes that are in the store.
func (r *report) recorded(settlement Settlement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.Published += len(settlement.Published)
	r.total.Failed += len(settlement.Failed)
}

// deferred notes entries that were left for later.
func (r *report) deferred(entries int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.Deferred += entries
}

// stopped notes why a worker ended. One that ran out of time speaks for all.
func (r *report) stopped(why Stopped) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.total.Stopped != OutOfTime {
		r.total.Stopped = why
	}
}

// handedOver notes whether newer runs were at work.
func (r *report) handedOver(over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.HandedOver = over
}

func (r *report) done(began time.Time) Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.Duration = time.Since(began)
	r.total.Latencies = r.latencies.values
	r.total.BatchDurations = r.batches.values
	return r.total
}

// sampleMax bounds what a sample keeps, so that memory does not grow with the
// backlog.
const sampleMax = 1000

// sample keeps a fair choice of the values it is given.
type sample struct {
	seen   int
	values []time.Duration
}

func (s *sample) add(value time.Duration) {
	s.seen++
	if len(s.values) < sampleMax {
		s.values = append(s.values, value)
		return
	}
	if i := rand.IntN(s.seen); i < sampleMax {
		s.values[i] = value
	}
}
