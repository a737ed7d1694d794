package outbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// round is the part of a batch that goes to one bus.
type round struct {
	dispatcher *dispatcher
	bus        string
	began      time.Time
	claimed    time.Time
	until      time.Time

	mu       sync.Mutex
	outcomes []Outcome
	alone    bool    // every event is one that is suspected itself
	answered bool    // the bus answered a request entry by entry
	failed   error   // the first request that failed as a whole
	suspects []int64 // rows of requests to which there was no answer
}

// run sends the requests: all at once, or first one to see whether the bus is
// there when it was not the last time.
func (r *round) run(ctx context.Context, requests []Request) {
	r.alone = !slices.ContainsFunc(requests, func(request Request) bool { return !request.Entries[0].Event.Alone })
	defer r.conclude()
	if err := r.dispatcher.publisher.CheckBus(ctx, r.bus); err != nil {
		for _, request := range requests {
			r.fault(request, err)
		}
		return
	}
	if r.dispatcher.buses.suspect(r.bus) {
		r.deliver(ctx, requests[0])
		requests = requests[1:]
	}
	var wait sync.WaitGroup
	for _, request := range requests {
		wait.Go(func() { r.deliver(ctx, request) })
	}
	wait.Wait()
}

// deliver sends one request, cut up where it is refused as it stands.
func (r *round) deliver(ctx context.Context, request Request) {
	if !r.admit(ctx, len(request.Entries)) {
		r.add(unsent(request, nil))
		return
	}
	outcomes, err := r.dispatcher.publisher.Send(ctx, request)
	<-r.dispatcher.slots
	switch {
	case err == nil:
		r.answer(outcomes)
	case faultOf(err) == Refused && len(request.Entries) > 1:
		first, second := request.split()
		r.deliver(ctx, first)
		r.deliver(ctx, second)
	default:
		r.fault(request, err)
	}
}

// admit waits for leave to send a request and takes a slot for it. There is
// none when the answer might come too late, or the bus has stopped answering.
func (r *round) admit(ctx context.Context, entries int) bool {
	d := r.dispatcher
	ctx, cancel := context.WithDeadline(ctx, r.until.Add(-d.send))
	defer cancel()
	if d.buses.pace(r.bus).wait(ctx) != nil || d.limiter.WaitN(ctx, entries) != nil {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case d.slots <- struct{}{}:
	}
	if ctx.Err() != nil || !r.goesOn() {
		<-d.slots
		return false
	}
	return true
}

// goesOn reports whether another request may be sent: not once one has failed
// while none was answered, nor when another worker has seen the bus fail.
func (r *round) goesOn() bool {
	usable := r.dispatcher.buses.usable(r.bus, time.Now())
	r.mu.Lock()
	defer r.mu.Unlock()
	return usable && (r.answered || r.failed == nil)
}

// answer keeps what the bus said of each entry of a request.
func (r *round) answer(outcomes []Outcome) {
	d := r.dispatcher
	now := time.Now()
	var throttled error
	for _, outcome := range outcomes {
		d.suspects.cleared(outcome.Event.Seq)
		switch {
		case outcome.Verdict == Accepted:
			d.report.accepted(outcome.Event.Age + now.Sub(r.claimed))
		case outcome.Verdict == Denied:
			d.buses.block(r.bus, outcome.requestError(Forbidden))
		case outcome.Throttled:
			throttled = outcome.requestError(Throttled)
		}
	}
	if throttled != nil {
		d.buses.throttled(r.bus, now, throttled)
	} else {
		d.buses.passed(r.bus, now)
	}
	r.mu.Lock()
	r.answered = true
	r.mu.Unlock()
	r.add(outcomes)
}

// fault keeps that a request failed as a whole. A bus that throttles is there:
// its pace is all that changes.
func (r *round) fault(request Request, err error) {
	r.add(unsent(request, err))
	switch faultOf(err) {
	case Throttled:
		r.dispatcher.buses.throttled(r.bus, time.Now(), err)
		return
	case Forbidden:
		r.dispatcher.buses.block(r.bus, err)
	case Unavailable, Refused:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
	for _, entry := range request.Entries {
		r.suspects = append(r.suspects, entry.Event.Seq)
	}
}

func (r *round) add(outcomes []Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, outcomes...)
}

// conclude tells what a failure means: where the bus answered other requests, or
// no other was tried, it may be the row that made its request fail; else it is
// the bus.
func (r *round) conclude() {
	d := r.dispatcher
	if r.answered {
		d.buses.recovered(r.bus)
	}
	switch {
	case r.answered, r.alone:
		for _, seq := range r.suspects {
			d.suspects.failed(seq, r.failed)
		}
	case r.failed != nil:
		d.buses.failed(r.bus, r.began, time.Now(), r.failed)
	}
}

// unsent is the outcome of a request of which no entry is known to be accepted.
// The error is nil when it was not sent at all.
func unsent(request Request, err error) []Outcome {
	outcomes := make([]Outcome, len(request.Entries))
	for i, entry := range request.Entries {
		outcomes[i] = Outcome{Event: entry.Event}
		if err != nil {
			outcomes[i].Code = "RequestFailed"
			outcomes[i].Message = err.Error()
		}
	}
	return outcomes
}

// faultOf reads the fault of a publisher's error.
func faultOf(err error) Fault {
	if request, ok := errors.AsType[*RequestError](err); ok {
		return request.Fault
	}
	return Unavailable
}
