package outbox

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	paceBack   = 0.85                   // of the rate that went through, after a throttle
	paceUp     = 0.15                   // more in a second without a throttle, twice as much more in the next, ...
	paceUpMost = 1                      // but no more than this
	paceStep   = 0.5                    // or so many requests a second, where that is more
	paceFirst  = 10                     // requests a second where none went through yet
	paceLeast  = 0.1                    // requests a second, where none go through
	paceSettle = 500 * time.Millisecond // throttles closer than this are one
)

// pace is how many requests a second a bus takes. There is no bound until the
// bus throttles; then it follows what the bus lets through and probes upwards.
type pace struct {
	limiter *rate.Limiter
	turn    chan struct{} // held by the one request that waits for the limiter

	mu        sync.Mutex
	throttle  time.Time // the last one that counted
	raised    time.Time // when the bound was last raised
	up        float64   // by how much it is raised next
	second    time.Time // start of the second that is being counted
	count     int       // requests that went through in it
	lastCount int       // and in the one before
}

func newPace() *pace {
	return &pace{limiter: rate.NewLimiter(rate.Inf, 1), turn: make(chan struct{}, 1)}
}

// wait returns when a request may be sent, or an error when that is not before
// the context's deadline. Requests wait one after the other: the limiter fixes
// the time of all who wait for it, and would hold them to an old limit.
func (p *pace) wait(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.turn }()
	return p.limiter.Wait(ctx)
}

// passed notes a request that was not throttled.
func (p *pace) passed(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(now)
	p.count++
	if limit := p.limiter.Limit(); limit != rate.Inf && now.Sub(p.raised) >= time.Second {
		p.limiter.SetLimit(limit + max(rate.Limit(p.up)*limit, paceStep))
		p.raised, p.up = now, min(2*p.up, paceUpMost)
	}
}

// throttled notes a request that was.
func (p *pace) throttled(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.throttle) < paceSettle {
		return
	}
	p.roll(now)
	p.throttle, p.raised, p.up = now, now, paceUp
	p.limiter.SetLimit(rate.Limit(max(paceLeast, p.through())))
}

// through is a little less than the rate that the bus lets through, or half of
// what it was offered where it let nothing through.
func (p *pace) through() float64 {
	offered := float64(p.limiter.Limit())
	if through := max(p.count, p.lastCount); through > 0 {
		return paceBack * min(float64(through), offered)
	}
	return min(paceFirst, offered/2)
}

// roll starts a new second when the last one is over.
func (p *pace) roll(now time.Time) {
	switch since := now.Sub(p.second); {
	case since >= 2*time.Second:
		p.second, p.count, p.lastCount = now, 0, 0
	case since >= time.Second:
		p.second, p.count, p.lastCount = p.second.Add(time.Second), 0, p.count
	}
}
