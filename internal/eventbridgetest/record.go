package eventbridgetest

import (
	"sync"
	"time"
)

// Accepted is an entry that EventBridge took.
type Accepted struct {
	Entry

	Sequence int // of acceptance, from 1
	EventID  string
	Request  int // its number
	Index    int // in the request, from 0
	At       time.Time
}

// Stats are the numbers, kept whatever is recorded.
type Stats struct {
	Requests    int
	Refused     int // requests answered with an error
	Accepted    int // entries
	Dropped     int // entries to buses that do not exist
	Failed      int // entries
	Oversized   int // requests
	MaxInFlight int // requests
	MaxEntries  int // of one request
}

// records is the server's memory.
type records struct {
	recording Recording

	mu         sync.Mutex
	stats      Stats
	inFlight   int
	requests   []*Request
	accepted   []Accepted
	dropped    []Accepted
	ids        map[string]int
	describes  []string
	onAccepted func(Accepted)
	waiters    waiters
}

func newRecords(r Recording) *records { return &records{recording: r, ids: map[string]int{}} }

// enter counts a request from its first byte.
func (r *records) enter() {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.inFlight++
	r.stats.MaxInFlight = max(r.stats.MaxInFlight, r.inFlight)
}

// admit numbers a request that has been read.
func (r *records) admit(request *Request, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.stats.Requests++
	r.stats.MaxEntries = max(r.stats.MaxEntries, request.Count)
	request.Number, request.Arrived, request.InFlight = r.stats.Requests, now, r.inFlight
	if request.Oversized {
		r.stats.Oversized++
	}
	if r.recording == RecordAll {
		r.requests = append(r.requests, request)
	}

	r.waiters.wake()
}

// accept records what becomes of every entry, and then tells the callback.
func (r *records) accept(request *Request, results []result, now time.Time) {
	taken, tell := r.take(request, results, now)
	for i := range taken {
		tell(taken[i])
	}
}

// take returns the accepted entries only if somebody asked to be told.
func (r *records) take(request *Request, results []result, now time.Time) ([]Accepted, func(Accepted)) {
	r.mu.Lock()
	defer r.mu.Unlock()

	var taken []Accepted
	for i := range results {
		switch {
		case results[i].ErrorCode != "":
			request.Failed++
		case results[i].dropped:
			request.Dropped++
			r.keepDropped(newAccepted(request, i, results[i].EventID, now))
		default:
			request.Accepted++
			a := newAccepted(request, i, results[i].EventID, now)
			a.Sequence = r.stats.Accepted + request.Accepted
			r.keepAccepted(a)
			if r.onAccepted != nil {
				taken = append(taken, a)
			}
		}
	}

	r.stats.Accepted += request.Accepted
	r.stats.Dropped += request.Dropped
	r.stats.Failed += request.Failed
	r.waiters.wake()
	return taken, r.onAccepted
}

func newAccepted(request *Request, i int, eventID string, now time.Time) Accepted {
	return Accepted{Entry: request.Entries[i], EventID: eventID, Request: request.Number, Index: i, At: now}
}

func (r *records) keepAccepted(a Accepted) {
	switch r.recording {
	case RecordAll:
		r.accepted = append(r.accepted, a)
		r.ids[a.ID]++
	case RecordIDs:
		r.ids[a.ID]++
	case RecordCounts:
	}
}

func (r *records) keepDropped(a Accepted) {
	if r.recording == RecordAll {
		r.dropped = append(r.dropped, a)
	}
}

// leave forgets a request whose client went away while sending it.
func (r *records) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.inFlight--
	r.waiters.wake()
}

// describe counts a DescribeEventBus request.
func (r *records) describe(request *Request, bus string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.describes = append(r.describes, bus)
	request.Number, request.Arrived = len(r.describes), now
	r.waiters.wake()
}

// finish records how a request ended.
func (r *records) finish(request *Request, outcome Outcome, answer reply, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()

	request.Outcome, request.Ended = outcome, now
	request.Status, request.ErrorCode = answer.status, answer.code
	if answer.status >= 300 {
		r.stats.Refused++
	}

	r.inFlight--
	r.waiters.wake()
}
