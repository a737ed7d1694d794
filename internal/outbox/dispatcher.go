package outbox

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// dispatcher publishes batches, for all workers of a run: within one bound of
// requests in flight, under one rate limit, and leaving alone the buses that do
// not take any.
type dispatcher struct {
	publisher Publisher
	buses     *buses
	suspects  *suspects
	report    *report
	send      time.Duration
	slots     chan struct{}
	limiter   *rate.Limiter // events a second
}

func newDispatcher(publisher Publisher, config Config, buses *buses, suspects *suspects, report *report) *dispatcher {
	d := &dispatcher{
		publisher: publisher,
		buses:     buses,
		suspects:  suspects,
		report:    report,
		send:      config.SendTimeout,
		slots:     make(chan struct{}, config.Concurrency),
		limiter:   rate.NewLimiter(rate.Inf, 0),
	}
	if config.MaxRate > 0 {
		burst := max(10, int(config.MaxRate/10)) // a request has up to 10 entries
		d.limiter = rate.NewLimiter(rate.Limit(config.MaxRate), burst)
	}
	return d
}

// publish sends the events of a batch and returns an outcome for each, in no
// particular order. It is over by until; what could not be sent by then is
// Held.
func (d *dispatcher) publish(ctx context.Context, events []Event, claimed, until time.Time) []Outcome {
	requests, outcomes := d.publisher.Pack(events)
	var rounds []*round
	var wait sync.WaitGroup
	for _, requests := range byBus(requests) {
		round := &round{dispatcher: d, bus: requests[0].Bus, began: time.Now(), claimed: claimed, until: until}
		rounds = append(rounds, round)
		wait.Go(func() { round.run(ctx, requests) })
	}
	wait.Wait()
	for _, round := range rounds {
		outcomes = append(outcomes, round.outcomes...)
	}
	return outcomes
}

// byBus splits requests by their bus, in the order of first appearance.
func byBus(requests []Request) [][]Request {
	var groups [][]Request
	index := map[string]int{}
	for _, request := range requests {
		i, ok := index[request.Bus]
		if !ok {
			i = len(groups)
			index[request.Bus] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], request)
	}
	return groups
}
