package outbox

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// A bus that fails rests for about 0.25, 1, 4, 16 and then 60 seconds.
	restFirst  = 250 * time.Millisecond
	restGrowth = 4
	restMax    = time.Minute
	// restsMax is how many rests of a bus a run waits for that has nothing
	// else to do. One that polls anyway does not count them.
	restsMax = 5
	// blockedMax bounds the buses that claims leave out one by one. Where so
	// many are blocked, the run ends.
	blockedMax = 1000
)

// buses knows which buses can be published to.
type buses struct {
	mu    sync.Mutex
	known map[string]*bus
}

// bus is what this run has seen of one bus.
type bus struct {
	pace     *pace
	takes    bool      // it has accepted an event
	throttle error     // the last one
	failures int       // rounds in a row without an answer
	failure  error     // of the last of them
	rested   time.Time // when the last rest began
	wake     time.Time // the bus rests until then
	resting  bool      // until a claim has been told that the rest is over
	blocked  error     // not nil: left out for the rest of the run
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
		case bus.blocked != nil, now.Before(bus.wake):
			names = append(names, name)
		case bus.resting:
			bus.resting = false
			woken = true
		}
	}
	slices.Sort(names)
	return names, woken
}

// wake returns when the next rest ends that is worth waiting for.
func (b *buses) wake(patient bool) (at time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, bus := range b.known {
		worth := bus.resting && bus.blocked == nil && (patient || bus.failures < restsMax)
		if worth && (!ok || bus.wake.Before(at)) {
			at, ok = bus.wake, true
		}
	}
	return at, ok
}

// bearable reports whether claims can still leave out all the buses that are
// blocked.
func (b *buses) bearable() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.blockedCount() < blockedMax
}

// allBlocked reports that no bus is left that the run knows of: an operator has
// to hear of it now.
func (b *buses) allBlocked() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.known) > 0 && b.blockedCount() == len(b.known)
}

func (b *buses) blockedCount() int {
	n := 0
	for _, bus := range b.known {
		if bus.blocked != nil {
			n++
		}
	}
	return n
}

// usable reports whether requests may go to the bus.
func (b *buses) usable(name string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	bus := b.get(name)
	return bus.blocked == nil && !now.Before(bus.wake)
}

// suspect reports whether the bus failed last time, so that one request is to
// be tried before the others.
func (b *buses) suspect(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.get(name).failures > 0
}

// takes reports whether the bus has accepted anything.
func (b *buses) takes(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.get(name).takes
}

// answered notes an answer of the bus: whether it accepted an entry, and the
// throttle if it asked for fewer requests.
func (b *buses) answered(name string, now time.Time, accepted bool, throttle error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bus := b.get(name)
	bus.takes = bus.takes || accepted
	if throttle == nil {
		bus.pace.passed(now)
		return
	}
	bus.throttle = throttle
	bus.pace.throttled(now)
}

// recovered notes that a round had an answer.
func (b *buses) recovered(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.get(name).failures = 0
}

// failed notes that a round, begun at the given time, had no answer. Rounds of
// several workers that fail together count once.
func (b *buses) failed(name string, began, now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	bus := b.get(name)
	if !began.After(bus.rested) {
		return
	}
	bus.rested, bus.resting = now, true
	bus.wake = now.Add(jitter(pause(restFirst, restGrowth, bus.failures, restMax)))
	bus.failures++
	bus.failure = err
}

// block leaves the bus out for the rest of the run.
func (b *buses) block(name string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bus := b.get(name); bus.blocked == nil {
		bus.blocked = err
	}
}

// errors tells which buses did not take what was due to them, and why.
func (b *buses) errors() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for name, bus := range b.known {
		if err := bus.problem(); err != nil {
			errs = append(errs, fmt.Errorf("bus %s: %w", name, err))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return few(errs)
}

// problem says why the bus does not take its events, if it does not.
func (b *bus) problem() error {
	switch {
	case b.blocked != nil:
		return fmt.Errorf("its events stay pending until this is put right: %w", b.blocked)
	case b.failures > 0:
		return fmt.Errorf("no request went through in the last %d tries; its events stay pending: %w", b.failures, b.failure)
	case b.throttle != nil && !b.takes:
		return fmt.Errorf("everything was throttled; its events stay pending: %w", b.throttle)
	}
	return nil
}
