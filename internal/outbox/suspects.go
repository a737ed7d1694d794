package outbox

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// triesMax is how often a row is sent in one run.
const triesMax = 5

// suspects are rows that need care in this run.
//
// A row whose request failed as a whole, while its bus took others, may be what
// made the request fail: it is sent in a request of its own, and if it fails on
// it is left to the next run. A row whose outcome the store will not record is
// left to the next run as well. A row whose transaction was lost is not claimed
// while its outcome is recorded on another session.
type suspects struct {
	mu         sync.Mutex
	tries      map[int64]int
	exhausted  map[int64]error
	unrecorded map[int64]bool
}

func newSuspects() *suspects {
	return &suspects{tries: map[int64]int{}, exhausted: map[int64]error{}, unrecorded: map[int64]bool{}}
}

// sendable drops the events whose outcomes are being recorded, which a claim can
// bring that was under way already, and marks those that are to be sent alone.
func (s *suspects) sendable(events []Event) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unrecorded) > 0 {
		events = slices.DeleteFunc(slices.Clone(events), func(event Event) bool { return s.unrecorded[event.Seq] })
	}
	if len(s.tries) > 0 {
		for i := range events {
			events[i].Alone = s.tries[events[i].Seq] > 0
		}
	}
	return events
}

// failed notes that the request with this row failed.
func (s *suspects) failed(seq int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries[seq]++
	if s.tries[seq] == triesMax {
		s.exhaust(seq, fmt.Errorf("event with seq %d: its request failed %d times while others went through: %w", seq, triesMax, err))
	}
}

// refused leaves a row out whose outcome the store refuses to record.
func (s *suspects) refused(seq int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exhaust(seq, fmt.Errorf("event with seq %d: its outcome could not be recorded, so it will be sent again: %w", seq, err))
}

func (s *suspects) exhaust(seq int64, err error) {
	delete(s.tries, seq)
	s.exhausted[seq] = err
}

// recording keeps rows out of claims: the bus has them, and the store is yet to
// hear of it.
func (s *suspects) recording(seqs []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seq := range seqs {
		s.unrecorded[seq] = true
	}
}

// recorded notes that the store has heard of it.
func (s *suspects) recorded(seqs []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seq := range seqs {
		delete(s.unrecorded, seq)
	}
}

// cleared forgets a row that went through.
func (s *suspects) cleared(seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tries, seq)
}

// exhaustedMax bounds the rows that are left out of claims one by one.
const exhaustedMax = 1000

// bearable reports whether claims can still leave these rows out. Where so many
// fail, going on is no use.
func (s *suspects) bearable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.exhausted) < exhaustedMax
}

// leftOut lists the rows that a claim has to leave out.
func (s *suspects) leftOut() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	seqs := slices.Collect(maps.Keys(s.exhausted))
	return slices.AppendSeq(seqs, maps.Keys(s.unrecorded))
}

// errors lists why rows were left out, the first few of them in full.
func (s *suspects) errors() []error {
	const shown = 3
	s.mu.Lock()
	defer s.mu.Unlock()
	seqs := slices.Sorted(maps.Keys(s.exhausted))
	var errs []error
	for _, seq := range seqs[:min(shown, len(seqs))] {
		errs = append(errs, s.exhausted[seq])
	}
	if more := len(seqs) - shown; more > 0 {
		errs = append(errs, fmt.Errorf("and %d more events like these", more))
	}
	return errs
}
