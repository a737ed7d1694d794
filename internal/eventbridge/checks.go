package eventbridge

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// maxWarned bounds what is kept of buses that were warned of: any text may stand in a topic column.
const maxWarned = 1000

// busChecks remembers good answers, by bus.
type busChecks struct {
	now     func() time.Time
	flights singleflight.Group

	mu     sync.Mutex
	good   map[string]time.Time // until when, by the wall clock alone
	warned map[string]struct{}
}

func newBusChecks(now func() time.Time) *busChecks {
	return &busChecks{now: now, good: map[string]time.Time{}, warned: map[string]struct{}{}}
}

// once calls check unless it succeeded for the bus lately, and not twice at a time.
func (c *busChecks) once(bus string, check func() error) error {
	if c.fresh(bus) {
		return nil
	}

	_, err, _ := c.flights.Do(bus, func() (any, error) {
		if c.fresh(bus) { // another call ended meanwhile
			return nil, nil
		}

		asked := c.now()
		err := check()
		if err == nil {
			c.keep(bus, asked)
		}
		return nil, err
	})
	return err
}

func (c *busChecks) fresh(bus string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return lasts(c.good[bus], c.now())
}

// lasts reports whether an answer is still good. A clock that was set back does not prolong it.
func lasts(until, now time.Time) bool {
	left := until.Sub(now)
	return left > 0 && left <= checkFor
}

// keep forgets what is out of date as well: any text may stand in a topic column. It takes the wall clock's time alone: the
// monotonic clock may stand still while a sandbox is frozen, and the bus may be gone when that goes on.
func (c *busChecks) keep(bus string, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()

	now := c.now()
	maps.DeleteFunc(c.good, func(_ string, until time.Time) bool { return !lasts(until, now) })
	c.good[bus] = asked.Round(0).Add(checkFor)
}

func (c *busChecks) firstWarning(bus string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.warned) == maxWarned {
		clear(c.warned)
	}

	_, warned := c.warned[bus]
	c.warned[bus] = struct{}{}
	return !warned
}
