package outbox

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// restMax is how often in a row a bus may fail before it is left out for the
// rest of the run. With restFirst and restGrowth its pauses are about 0.25, 1,
// 4 and 16 seconds.
const (
	restMax    = 5
	restFirst  = 250 * time.Millisecond
	restGrowth = 4
)

// buses knows which buses can be published to.
type buses struct {
	mu    sync.Mutex
	known map[string]*bus
}

// bus is what this run has seen of one bus.
type bus struct {
	pace     *pace
	passed   bool      // a request went through
	throttle error     // the last one
	failures int       // rounds in a row that failed as a whole
	rested   time.Time // when the last rest began
	wake     time.Time // the bus rests until then
	resting  bool      // until a claim has been told that the rest is over
	err      error     // not nil: left out for the rest of the run
}

func newBuses() *buses { return &buses{known: map[string]*bus{}} }

// get returns the bus, with mu held.
func (b *buses) get(name string) *bus {
	state := b.known[name]
	if state == nil {
		state = &bus{pace: newPace()}
		b.known[name] = state
	}
	return state
}

// pace returns the bus's pace.
func (b *buses) pace(name string) *pace {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.get(name).pace
}

// leftOut lists the buses that a claim made now has to leave out. Woken reports
// that a rest ended since the last time: rows of that bus may be behind the
// floor.
func (b *buses) leftOut(now time.Time) (names []string, woken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, bus := range b.known {
		switch {
		case bus.err != nil, now.Before(bus.wake):
			names = append(names, name)
		case bus.resting:
			bus.resting = false
			woken = true
		}
	}
	slices.Sort(names)
	return names, woken
}

// wake returns when the next rest ends, if any bus is resting.
func (b *buses) wake() (at time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, bus := range b.known {
		if bus.err == nil && bus.resting && (!ok || bus.wake.Before(at)) {
			at, ok = bus.wake, true
		}
	}
	return at, ok
}

// usable reports whether requests may go to the bus.
func (b *buses) usable(name string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	bus := b.get(name)
	return bus.err == nil && !now.Before(bus.wake)
}

// suspect reports whether the bus failed last time, so that one request is to
// be tried before the others.
func (b *buses) suspect(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.get(name).failures > 0
}

// passed notes a request that went through.
func (b *buses) passed(name string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bus := b.get(name)
	bus.passed = true
	bus.pace.passed(now)
}

// throttled notes a request or an entry for which the bus asks to go slower.
func (b *buses) throttled(name string, now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bus := b.get(name)
	bus.throttle = err
	bus.pace.throttled(now)
}

// recovered notes that the bus accepted something.
func (b *buses) recovered(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.get(name).failures = 0
}

// failed notes that a round of requests, begun at the given time, failed as a
// whole. Rounds of several workers that fail together count once.
func (b *buses) failed(name string, began, now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bus := b.get(name)
	if bus.err != nil || !began.After(bus.rested) {
		return
	}
	bus.failures++
	if bus.failures == restMax {
		bus.err = fmt.Errorf("bus %s: no request went through in %d tries; its events stay pending: %w", name, restMax, err)
		return
	}
	bus.rested, bus.resting = now, true
	bus.wake = now.Add(jitter(pause(restFirst, restGrowth, bus.failures-1, time.Minute)))
}

// block leaves the bus out for the rest of the run.
func (b *buses) block(name string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bus := b.get(name); bus.err == nil {
		bus.err = fmt.Errorf("bus %s: its events stay pending until this is put right: %w", name, err)
	}
}

// errors lists why buses were left out, and those that took nothing for being
// throttled.
func (b *buses) errors() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for name, bus := range b.known {
		switch {
		case bus.err != nil:
			errs = append(errs, bus.err)
		case bus.throttle != nil && !bus.passed:
			errs = append(errs, fmt.Errorf("bus %s: every request was throttled; its events stay pending: %w", name, bus.throttle))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}
