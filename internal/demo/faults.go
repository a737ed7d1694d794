package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"outboxrelay/internal/eventbridgetest"
)

const (
	// holdTime is how long the bus holds its answers for the kill: shorter than
	// the relay waits for them, so that it is the kill that loses them.
	holdTime = 800 * time.Millisecond
	// patience is how long a fault may take to show its effect.
	patience = 15 * time.Second
	// lookEvery is for what nothing tells of.
	lookEvery = 2 * time.Millisecond
)

// act is one scene of the script.
type act struct {
	name string        // what is shown while it goes on
	last time.Duration // at the least

	// fault is what goes wrong on the bus; nil: nothing.
	fault func() eventbridgetest.Fault
	// pause is the bus that the operator pauses meanwhile; "": none.
	pause string
	// seen recognises a request that shows the effect; the act goes on until
	// there is one.
	seen func(eventbridgetest.Request) bool
	// felt recognises a lag that shows it; the act goes on until it is measured.
	// nil: the lag says nothing of it.
	felt func(lag) bool
	// kill kills the relay while the bus holds the answer to such a request.
	kill bool
}

// script takes about 20 seconds. The calm after a fault is for the relay to
// catch up, so that the next one meets a working relay.
var script = []act{
	{name: "all is well", last: 2 * time.Second},
	{
		// While the first answers are held, a backlog grows that makes the batch
		// a large one.
		name: "killing the relay in mid-batch", last: 1500 * time.Millisecond, kill: true,
		fault: func() eventbridgetest.Fault { return eventbridgetest.Latency(holdTime) },
		seen: func(r eventbridgetest.Request) bool {
			return r.Accepted > 0 && r.Outcome == eventbridgetest.InFlight
		},
	},
	{name: "recovering", last: 2 * time.Second},
	{
		name: "the bus throttles", last: 4 * time.Second,
		fault: func() eventbridgetest.Fault { return eventbridgetest.RateLimit(12, nil) },
		seen:  func(r eventbridgetest.Request) bool { return r.ErrorCode == "ThrottlingException" },
	},
	{name: "recovering", last: 3 * time.Second},
	{
		name: "the bus is down (503)", last: 2 * time.Second,
		fault: eventbridgetest.Unavailable,
		seen:  func(r eventbridgetest.Request) bool { return r.Status == http.StatusServiceUnavailable },
		felt:  func(l lag) bool { return l.oldest >= time.Second },
	},
	{name: "recovering", last: 3 * time.Second},
	{
		name: "the bus accepts and hangs up", last: time.Second,
		fault: func() eventbridgetest.Fault {
			return eventbridgetest.Sometimes(1, 0.5, eventbridgetest.AcceptThenDrop())
		},
		seen: func(r eventbridgetest.Request) bool {
			return r.Accepted > 0 && r.Outcome == eventbridgetest.Dropped
		},
	},
	{name: "recovering", last: time.Second},
	{
		name: "the operator pauses the bus " + ordersBus, last: 1500 * time.Millisecond, pause: ordersBus,
		seen: func(r eventbridgetest.Request) bool { return r.Accepted > 0 && r.Entries[0].Bus != ordersBus },
		felt: func(l lag) bool { return l.paused > 0 },
	},
}

// evidence is what shows that what the script says did happen.
type evidence struct {
	cutOff []string // ids that were accepted by requests the relay was killed under
	paused pause
	unseen []string // names of acts that had no effect
}

// pause is when a bus was paused: from when the operator had the answer until
// the moment of resuming.
type pause struct {
	bus      string
	from, to time.Time
}

// covers reports whether the bus was paused then.
func (p pause) covers(at time.Time) bool { return at.After(p.from) && at.Before(p.to) }

// director plays the script.
type director struct {
	bus      bus
	operator pauser
	lags     func() []lag
	kill     func() error // SIGKILL to the relay; it returns when that is gone
	say      say
	evidence evidence
}

// bus is what a director needs of the stand-in.
type bus interface {
	Always(fault eventbridgetest.Fault)
	Clear()
	Requests() []eventbridgetest.Request
}

// pauser is what a director needs of the operator.
type pauser interface {
	pause(ctx context.Context, bus string) error
	resume(ctx context.Context, bus string) error
}

func (d *director) play(ctx context.Context, acts []act) error {
	for _, act := range acts {
		d.say("%s", act.name)
		if err := d.perform(ctx, act); err != nil {
			return err
		}
	}
	return nil
}

func (d *director) perform(ctx context.Context, act act) error {
	switch {
	case act.pause != "":
		return d.pauseBus(ctx, act)
	case act.fault != nil:
		return d.spoilBus(ctx, act)
	default:
		return wait(ctx, act.last)
	}
}

// pauseBus pauses a bus once it is seen to be served: the relay may have left it
// alone for a fault before.
func (d *director) pauseBus(ctx context.Context, act act) error {
	before := len(d.bus.Requests())
	served := func(r eventbridgetest.Request) bool { return r.Accepted > 0 && r.Entries[0].Bus == act.pause }
	if _, err := until(ctx, func() bool { return len(d.befallen(before, served)) > 0 }); err != nil {
		return err
	}
	if err := d.operator.pause(ctx, act.pause); err != nil {
		return err
	}
	from := time.Now()
	before = len(d.bus.Requests())
	if _, err := d.await(ctx, act, before); err != nil {
		return err
	}
	d.evidence.paused = pause{bus: act.pause, from: from, to: time.Now()}
	if err := d.operator.resume(ctx, act.pause); err != nil {
		return err
	}
	d.say("resumed; meanwhile %d requests went to the other bus", len(d.befallen(before, act.seen)))
	return nil
}

func (d *director) spoilBus(ctx context.Context, act act) error {
	d.bus.Always(act.fault())
	defer d.bus.Clear()
	before := len(d.bus.Requests()) // all later ones meet the fault
	shown, err := d.await(ctx, act, before)
	if !shown || err != nil {
		return err
	}
	if act.kill {
		return d.killUnder(ctx, before)
	}
	d.say("%s: %d requests met it", act.name, len(d.befallen(before, act.seen)))
	return nil
}

// await returns when the act has lasted and has shown its effect, or when that
// is no longer to be expected.
func (d *director) await(ctx context.Context, act act, before int) (shown bool, err error) {
	began := time.Now()
	if err := wait(ctx, act.last); err != nil {
		return false, err
	}
	shown, err = until(ctx, func() bool {
		return len(d.befallen(before, act.seen)) > 0 && d.felt(began, act.felt)
	})
	if err == nil && !shown {
		d.evidence.unseen = append(d.evidence.unseen, act.name)
	}
	return shown, err
}

// felt reports whether the effect is among what was measured since then.
func (d *director) felt(since time.Time, felt func(lag) bool) bool {
	return felt == nil || slices.ContainsFunc(d.lags(), func(l lag) bool { return !l.begun.Before(since) && felt(l) })
}

// killUnder kills the relay while requests are held whose entries the bus has
// accepted. They are those that the bus then finds abandoned.
func (d *director) killUnder(ctx context.Context, before int) error {
	if err := d.kill(); err != nil {
		return fmt.Errorf("kill the relay: %w", err)
	}
	killed := time.Now()
	held := func(r eventbridgetest.Request) bool {
		return r.Outcome == eventbridgetest.InFlight && !r.Arrived.After(killed)
	}
	noneHeld := func() bool { return len(d.befallen(before, held)) == 0 }
	if _, err := until(ctx, noneHeld); err != nil {
		return err
	}
	d.evidence.cutOff = acceptedIDs(d.befallen(before, func(r eventbridgetest.Request) bool {
		return r.Outcome == eventbridgetest.Abandoned
	}))
	d.say("killed: the bus had accepted %d events that the relay had not recorded yet", len(d.evidence.cutOff))
	return nil
}

// acceptedIDs lists the events of requests that were accepted in full.
func acceptedIDs(requests []eventbridgetest.Request) []string {
	var ids []string
	for _, request := range requests {
		if request.Accepted < request.Count {
			continue
		}
		for _, entry := range request.Entries {
			ids = append(ids, entry.ID)
		}
	}
	return ids
}

// befallen lists the requests since an act began that show its effect.
func (d *director) befallen(before int, seen func(eventbridgetest.Request) bool) []eventbridgetest.Request {
	var found []eventbridgetest.Request
	for _, request := range d.bus.Requests()[before:] {
		if seen(request) {
			found = append(found, request)
		}
	}
	return found
}

// until looks again and again, for as long as patience lasts.
func until(ctx context.Context, done func() bool) (bool, error) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		if done() {
			return true, nil
		}
		select {
		case <-ticker.C:
		case <-over.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
