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
	good   map[string]time.Time // until when
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
			c.keep(bus, asked.Add(checkFor))
		}
		return nil, err
	})
	return err
}

func (c *busChecks) fresh(bus string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now().Before(c.good[bus])
}

// keep forgets what is out of date as well: any text may stand in a topic column.
func (c *busChecks) keep(bus string, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()

	now := c.now()
	maps.DeleteFunc(c.good, func(_ string, until time.Time) bool { return !now.Before(until) })
	c.good[bus] = until
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
