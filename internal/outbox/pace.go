package outbox

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	paceBack   = 0.7                    // of the rate that went through, after a throttle
	paceUp     = 1.25                   // a second without a throttle
	paceFirst  = 10                     // requests a second where none went through yet
	paceSettle = 500 * time.Millisecond // throttles closer than this are one
)

// pace is how many requests a second a bus takes. There is no bound until the
// bus throttles; then it follows what the bus lets through and probes upwards.
type pace struct {
	limiter *rate.Limiter

	mu        sync.Mutex
	throttle  time.Time // the last one that counted
	raised    time.Time // when the bound was last raised
	second    time.Time // start of the second that is being counted
	count     int       // requests that went through in it
	lastCount int       // and in the one before
}

func newPace() *pace { return &pace{limiter: rate.NewLimiter(rate.Inf, 1)} }

// wait returns when a request may be sent, or an error at once when that is not
// before the context's deadline.
func (p *pace) wait(ctx context.Context) error { return p.limiter.Wait(ctx) }

// passed notes a request that was not throttled.
func (p *pace) passed(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(now)
	p.count++
	if limit := p.limiter.Limit(); limit != rate.Inf && now.Sub(p.raised) >= time.Second {
		p.raised = now
		p.limiter.SetLimit(limit * paceUp)
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
	p.throttle, p.raised = now, now
	p.limiter.SetLimit(max(1, rate.Limit(paceBack*p.through())))
}

// through is the rate that the bus lets through, at most what it was offered.
func (p *pace) through() float64 {
	through := float64(max(p.count, p.lastCount))
	if through == 0 {
		through = paceFirst
	}
	return min(through, float64(p.limiter.Limit()))
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
