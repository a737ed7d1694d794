package outbox

import (
	"math"
	"sync"
	"time"
)

// front is before every seq.
const front = math.MinInt64

// scanShare bounds the time spent on scans from the front: after one that took
// t, the next comes not before scanShare times t.
const scanShare = 20

// floor is where claims start: up to its seq, every pending row was claimed in
// this run, is locked by someone, was left out, or became pending after the
// scan had passed it. The last kind waits for a scan from the front.
type floor struct {
	maxPause time.Duration

	mu       sync.Mutex
	seq      int64
	scanAt   time.Time // when the next scan from the front is due
	scanning bool      // one is under way
}

// scan is one claim's walk over the pending rows.
type scan struct {
	from  int64
	front bool
	began time.Time
}

func newFloor(maxPause time.Duration) *floor { return &floor{maxPause: maxPause, seq: front} }

// begin says where the claim that is made now starts.
func (f *floor) begin(now time.Time) scan {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.scanning || now.Before(f.scanAt) {
		return scan{from: f.seq, began: now}
	}
	f.scanning = true
	return scan{from: front, front: true, began: now}
}

// found moves the floor by what a scan found. Full means that it stopped
// because it had enough rows.
func (f *floor) found(s scan, events []Event, full bool, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.front {
		f.scanning = false
		f.scanAt = now.Add(min(f.maxPause, scanShare*now.Sub(s.began)))
	}
	if len(events) == 0 {
		return
	}
	last := events[len(events)-1].Seq
	switch {
	case s.front && full && last < f.seq:
		f.seq = last // there may be more between here and the old floor
	case s.from <= f.seq && last > f.seq:
		f.seq = last
	}
}

// lower moves the floor back, so that the next claim finds rows after seq that
// are pending again.
func (f *floor) lower(seq int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq = min(f.seq, seq)
}

// scanNext makes the next claim one from the front.
func (f *floor) scanNext() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scanAt, f.scanning = time.Time{}, false
}
