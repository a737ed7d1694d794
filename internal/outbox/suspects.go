package outbox

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

const (
	// triesMax is how often a row may make its request fail in one run.
	triesMax = 5
	// leftOutMax bounds the rows that claims leave out one by one. Where so
	// many fail, going on is no use.
	leftOutMax = 1000
	// refusedMax bounds those whose outcome the store refuses to record, while
	// it has recorded none: it is the store, then.
	refusedMax = 250
)

// suspects are rows that need care in this run.
//
// A row whose request failed as a whole, while its bus took others, may be what
// made the request fail: it is sent in a request of its own, and if it fails on
// it is left to the next run. A row whose outcome the store will not record is
// left to the next run as well.
type suspects struct {
	mu         sync.Mutex
	tries      map[int64]int
	leftOut    map[int64]error // until the next run
	refusals   int             // of the store
	everStored bool            // the store has recorded something
}

func newSuspects() *suspects {
	return &suspects{tries: map[int64]int{}, leftOut: map[int64]error{}}
}

// sendable drops the events that are left out, which a claim can bring that was
// under way already, and marks those that are to be sent alone.
func (s *suspects) sendable(events []Event) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	sendable := make([]Event, 0, len(events))
	for _, event := range events {
		if s.leftOut[event.Seq] != nil {
			continue
		}
		_, event.Alone = s.tries[event.Seq]
		sendable = append(sendable, event)
	}
	return sendable
}

// blame notes that a request failed while others went through.
func (s *suspects) blame(request Request, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, entry := range request.Entries {
		seq := entry.Event.Seq
		s.tries[seq]++
		if s.tries[seq] == triesMax {
			delete(s.tries, seq)
			s.leftOut[seq] = fmt.Errorf("event with seq %d: its request failed %d times while others went through: %w", seq, triesMax, err)
		}
	}
}

// mark has the row sent alone.
func (s *suspects) mark(seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries[seq] += 0
}

// clear forgets a row of which the bus has told.
func (s *suspects) clear(seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tries, seq)
}

// unrecordable leaves a row out whose outcome the store refuses to record.
func (s *suspects) unrecordable(seq int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals++
	s.leftOut[seq] = fmt.Errorf("event with seq %d: its outcome could not be recorded; if it was accepted, it will be sent again: %w", seq, err)
}

// unreadable leaves a row out whose text the store cannot produce.
func (s *suspects) unreadable(seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leftOut[seq] = fmt.Errorf("event with seq %d: %w; it stays pending until it is put right or removed", seq, ErrUnreadable)
}

// stored notes that the store records what it is given.
func (s *suspects) stored() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.everStored = true
}

// bearable reports whether going on makes sense.
func (s *suspects) bearable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.leftOut) < leftOutMax && (s.everStored || s.refusals < refusedMax)
}

// notToClaim lists the rows that a claim has to leave out.
func (s *suspects) notToClaim() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.leftOut))
}

// errors tells why rows were left to the next run.
func (s *suspects) errors() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, seq := range slices.Sorted(maps.Keys(s.leftOut)) {
		errs = append(errs, s.leftOut[seq])
	}
	return few(errs)
}

// shownErrors is how many errors of the same kind a person reads.
const shownErrors = 3

// few shortens a list of errors.
func few(errs []error) []error {
	if len(errs) <= shownErrors {
		return errs
	}
	return append(errs[:shownErrors:shownErrors], fmt.Errorf("and %d more like these", len(errs)-shownErrors))
}
