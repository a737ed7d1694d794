package outbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// checkLeast is how long a bus may leave the question unanswered whether it is
// there, at the end of a batch's time, without being taken for one that is away.
const checkLeast = time.Second

// round is the part of a batch that goes to one bus.
type round struct {
	dispatcher *dispatcher
	bus        string
	began      time.Time
	claimed    time.Time
	until      time.Time

	mu       sync.Mutex
	outcomes []Outcome
	doubtful []Outcome // refused alone, perhaps for a reason that concerns all
	failures []failed  // requests without an answer
	answered time.Time // the last answer that told of each entry; zero: none
	err      error     // the first failure
}

// failed is a request that failed as a whole.
type failed struct {
	request Request
	sent    time.Time
}

// run sends the requests: all at once, or first one to see whether the bus is
// there when it was not the last time.
func (r *round) run(ctx context.Context, requests []Request) {
	defer r.conclude()
	ctx, cancel := context.WithDeadline(ctx, r.until.Add(-r.dispatcher.send))
	defer cancel()
	if err := r.dispatcher.publisher.CheckBus(ctx, r.bus); err != nil {
		r.uncheckable(ctx, requests, err)
		return
	}
	if r.dispatcher.buses.suspect(r.bus) {
		probe, rest := probeOf(requests)
		r.deliver(ctx, probe)
		requests = rest
	}
	var wait sync.WaitGroup
	for _, request := range requests {
		wait.Go(func() { r.deliver(ctx, request) })
	}
	wait.Wait()
}

// probeOf chooses an entry that tells whether a bus is there, and returns it as a
// request before the others. It is a lone one that is not suspect, if there is
// such, and another one each time: a single row may be what made all fail.
func probeOf(requests []Request) (probe Request, rest []Request) {
	at := max(0, slices.IndexFunc(requests, func(r Request) bool { return !r.Entries[0].Event.Alone }))
	entries := requests[at].Entries
	i := rand.IntN(len(entries))
	probe = Request{Bus: requests[at].Bus, Entries: entries[i : i+1 : i+1]}
	rest = slices.Delete(slices.Clone(requests), at, at+1)
	if len(entries) > 1 {
		others := slices.Delete(slices.Clone(entries), i, i+1)
		rest = append(rest, Request{Bus: probe.Bus, Entries: others})
	}
	return probe, rest
}

// uncheckable keeps that the bus could not be checked; no row is to blame.
func (r *round) uncheckable(ctx context.Context, requests []Request, err error) {
	verdict := Unanswered
	switch {
	case ctx.Err() != nil && time.Since(r.began) < checkLeast:
		verdict = Held // there was no time to ask
	case faultOf(err) == Forbidden:
		r.dispatcher.buses.block(r.bus, err)
	default:
		r.err = err
	}
	r.leave(requests, verdict)
}

// leave keeps that requests were not sent.
func (r *round) leave(requests []Request, verdict Verdict) {
	for _, request := range requests {
		r.add(untold(request, verdict))
	}
}

// deliver sends one request, cut up where it is refused as it stands. The
// context ends when a request that is sent now might be answered too late.
func (r *round) deliver(ctx context.Context, request Request) {
	if !r.admit(ctx, len(request.Entries)) {
		r.add(untold(request, Held))
		return
	}
	sent := time.Now()
	outcomes, err := r.dispatcher.publisher.Send(context.WithoutCancel(ctx), request)
	<-r.dispatcher.slots
	switch {
	case err == nil && outcomes[0].Doubtful:
		r.doubt(outcomes[0])
	case err == nil:
		r.answer(outcomes)
	case faultOf(err) == Refused && len(request.Entries) > 1:
		first, second := request.split()
		r.deliver(ctx, first)
		r.deliver(ctx, second)
	default:
		r.fail(failed{request, sent}, err)
	}
}

// admit waits for leave to send a request and takes a slot for it. There is
// none when the answer might come too late, or the bus has stopped answering.
func (r *round) admit(ctx context.Context, entries int) bool {
	d := r.dispatcher
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
	return usable && (!r.answered.IsZero() || r.err == nil)
}

// answer keeps what the bus said of each entry of a request.
func (r *round) answer(outcomes []Outcome) {
	d := r.dispatcher
	now := time.Now()
	accepted, throttled := false, error(nil)
	for _, outcome := range outcomes {
		d.suspects.clear(outcome.Event.Seq)
		switch {
		case outcome.Verdict == Accepted:
			accepted = true
			d.report.accepted(outcome.Event.Age + now.Sub(r.claimed))
		case outcome.Verdict == Denied:
			d.buses.block(r.bus, outcome.requestError(Forbidden))
		case outcome.Throttled:
			throttled = outcome.requestError(Throttled)
		}
	}
	d.buses.answered(r.bus, now, accepted, throttled)
	r.mu.Lock()
	r.answered = now
	r.mu.Unlock()
	r.add(outcomes)
}

// doubt keeps a refusal whose meaning shows at the end of the round.
func (r *round) doubt(outcome Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubtful = append(r.doubtful, outcome)
	if r.err == nil && !r.dispatcher.buses.takes(r.bus) {
		r.err = outcome.requestError(Refused) // before all are cut up, see whether one goes through
	}
}

// fail keeps that a request failed as a whole. A bus that throttles is there: its
// pace is all that changes.
func (r *round) fail(request failed, err error) {
	r.add(untold(request.request, Unanswered))
	switch faultOf(err) {
	case Throttled:
		r.dispatcher.buses.answered(r.bus, time.Now(), false, err)
	case Forbidden:
		r.dispatcher.buses.block(r.bus, err)
	case Unavailable, Refused:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.failures = append(r.failures, request)
		if r.err == nil {
			r.err = err
		}
	}
}

func (r *round) add(outcomes []Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, outcomes...)
}

// conclude says what the failures of a round mean: for their rows, where the bus
// answered others at the same time or later; else for the bus.
func (r *round) conclude() {
	d := r.dispatcher
	if !r.answered.IsZero() {
		d.buses.recovered(r.bus)
	}
	for _, failure := range r.failures {
		if !r.answered.IsZero() && !r.answered.Before(failure.sent) {
			d.suspects.blame(failure.request, r.err)
		}
	}
	takesOthers := d.buses.takes(r.bus)
	for _, outcome := range r.doubtful {
		if !takesOthers {
			d.suspects.mark(outcome.Event.Seq)
			outcome = Outcome{Event: outcome.Event, Verdict: Unanswered}
		}
		r.outcomes = append(r.outcomes, outcome)
	}
	if r.answered.IsZero() && r.err != nil {
		d.buses.failed(r.bus, r.began, time.Now(), r.err)
	}
}

// untold is the outcome of a request whose entries the bus has told nothing of.
func untold(request Request, verdict Verdict) []Outcome {
	outcomes := make([]Outcome, len(request.Entries))
	for i, entry := range request.Entries {
		outcomes[i] = Outcome{Event: entry.Event, Verdict: verdict}
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
