package outbox

import "sync"

// flight knows which worker has which rows in hand: claimed, and not settled yet.
//
// The lock of a row ends with its session, and the worker does not notice while
// the batch is at the bus. Another one would find the row pending and send it
// again, so that claims leave such rows out.
type flight struct {
	mu sync.Mutex
	of map[int64]*worker // by seq
}

func newFlight() *flight { return &flight{of: map[int64]*worker{}} }

// take gives the worker the events that no other one has in hand, and returns them,
// and an outcome for each of the others: held. A claim can bring such if it was under
// way when they lost their lock, or when the other one settled them.
func (f *flight) take(w *worker, events []Event) (taken []Event, others []Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range events {
		event := &events[i]
		if other := f.of[event.Seq]; other != nil && other != w {
			others = append(others, Outcome{Event: event, Verdict: Held})
			continue
		}
		f.of[event.Seq] = w
		taken = append(taken, *event)
	}
	return taken, others
}

// release notes that rows are settled, or are not going to be in this run, as far as
// it is this worker that has them in hand.
func (f *flight) release(w *worker, seqs []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, seq := range seqs {
		if f.of[seq] == w {
			delete(f.of, seq)
		}
	}
}

// others lists the rows behind a floor that other workers have in hand.
func (f *flight) others(w *worker, floor int64) []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var seqs []int64
	for seq, other := range f.of {
		if other != w && seq > floor {
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

// count tells how many of the rows are in hand.
func (f *flight) count(seqs []int64) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, seq := range seqs {
		if f.of[seq] != nil {
			n++
		}
	}
	return n
}

// any reports whether any row is in hand.
func (f *flight) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.of) > 0
}
