package eventbridgetest

import "time"

// RateLimit lets perSecond requests through in every second of the clock now, counted from the first request, and throttles
// the rest: by turns the whole request and every one of its entries. A nil clock is the system's.
func RateLimit(perSecond int, now func() time.Time) Fault {
	if now == nil {
		now = time.Now
	}
	return &rateLimit{perSecond: perSecond, now: now, entries: FailEntries("ThrottlingException", "Rate exceeded")}
}

type rateLimit struct {
	perSecond int
	now       func() time.Time
	entries   *EntryFault

	start     time.Time // of the second being counted
	admitted  int
	throttled int
}

func (r *rateLimit) apply(p *plan) {
	if r.admit() {
		return
	}

	r.throttled++
	if r.throttled%2 == 1 {
		Throttle().apply(p)
	} else {
		r.entries.apply(p)
	}
}

func (r *rateLimit) admit() bool {
	now := r.now()
	if r.start.IsZero() {
		r.start = now
	}
	if passed := now.Sub(r.start).Truncate(time.Second); passed > 0 {
		r.start, r.admitted = r.start.Add(passed), 0
	}
	if r.admitted >= r.perSecond {
		return false
	}

	r.admitted++
	return true
}
