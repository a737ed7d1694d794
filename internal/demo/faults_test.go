package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

// fakeBus shows requests by how long its fault has lasted.
type fakeBus struct {
	show    func(lasted time.Duration) []eventbridgetest.Request
	began   time.Time
	cleared int
}

func (b *fakeBus) Always(eventbridgetest.Fault)        { b.began = time.Now() }
func (b *fakeBus) Clear()                              { b.cleared++ }
func (b *fakeBus) Requests() []eventbridgetest.Request { return b.show(time.Since(b.began)) }

// direct is a director of the bus that keeps what it says.
func direct(bus *fakeBus, kill func() error) (*director, *[]string) {
	var said []string
	return &director{
		bus: bus, kill: kill, operator: &fakePauser{}, lags: func() []lag { return nil },
		say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
	}, &said
}

// fakePauser keeps what it was asked for.
type fakePauser struct {
	paused, resumed []string
	refusal         error
}

func (p *fakePauser) pause(_ context.Context, bus string) error {
	p.paused = append(p.paused, bus)
	return p.refusal
}

func (p *fakePauser) resume(_ context.Context, bus string) error {
	p.resumed = append(p.resumed, bus)
	return p.refusal
}

func actCalled(t *testing.T, name string) act {
	t.Helper()
	for _, act := range script {
		if act.name == name {
			return act
		}
	}
	t.Fatalf("no act %q", name)
	return act{}
}

func TestFaultLastsUntilARequestHasMetIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, throttles := time.Now(), actCalled(t, "the bus throttles")
		throttled := eventbridgetest.Request{ErrorCode: "ThrottlingException"}
		bus := &fakeBus{show: func(lasted time.Duration) []eventbridgetest.Request {
			if lasted < 5*time.Second {
				return []eventbridgetest.Request{throttled} // before the act: it counts for nothing
			}
			return []eventbridgetest.Request{throttled, throttled}
		}}
		d, said := direct(bus, nil)

		require.NoError(t, d.play(t.Context(), throttles.only()))

		require.InDelta(t, 5, time.Since(began).Seconds(), 0.1)
		require.Equal(t, []string{"the bus throttles", "the bus throttles: 1 requests met it"}, *said)
		require.Equal(t, 1, bus.cleared)
		require.Empty(t, d.evidence)
	})
}

func TestFaultWithoutEffectIsNotPassedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		killed := false
		var faults []act
		for _, act := range script {
			if act.seen != nil {
				faults = append(faults, act)
			}
		}
		bus := &fakeBus{show: func(time.Duration) []eventbridgetest.Request { return nil }}
		d, _ := direct(bus, func() error { killed = true; return nil })

		require.NoError(t, d.play(t.Context(), faults))

		require.Equal(t, []string{
			"killing the relay in mid-batch", "the bus throttles", "the bus is down (503)", "the bus accepts and hangs up",
			"the operator pauses the bus orders",
		}, d.evidence.unseen)
		require.Equal(t, 4, bus.cleared)
		require.False(t, killed)
	})
}

func TestRelayIsKilledWhileAcceptedRequestsAreHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		heldAs := eventbridgetest.InFlight
		bus := &fakeBus{show: func(lasted time.Duration) []eventbridgetest.Request {
			if lasted == 0 {
				return nil
			}
			return []eventbridgetest.Request{
				request(eventbridgetest.Answered, 1, "answered"),
				request(heldAs, 2, "held", "also held"),
				request(heldAs, 0, "not accepted"),
			}
		}}
		d, said := direct(bus, func() error {
			heldAs = eventbridgetest.Abandoned
			return nil
		})

		require.NoError(t, d.play(t.Context(), actCalled(t, "killing the relay in mid-batch").only()))

		require.Equal(t, evidence{cutOff: []string{"held", "also held"}}, d.evidence)
		require.Contains(t, *said, "killed: the bus had accepted 2 events that the relay had not recorded yet")
	})
}

func TestKillThatFailsEndsThePlay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := &fakeBus{show: func(lasted time.Duration) []eventbridgetest.Request {
			if lasted == 0 {
				return nil
			}
			return []eventbridgetest.Request{request(eventbridgetest.InFlight, 1, "held")}
		}}
		refused := errors.New("no such process")
		d, _ := direct(bus, func() error { return refused })

		err := d.play(t.Context(), actCalled(t, "killing the relay in mid-batch").only())

		require.ErrorIs(t, err, refused)
		require.Equal(t, 1, bus.cleared)
	})
}

func TestOutageLastsUntilItIsMeasured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		bus := &fakeBus{show: func(lasted time.Duration) []eventbridgetest.Request {
			if lasted == 0 {
				return nil
			}
			return []eventbridgetest.Request{{Status: http.StatusServiceUnavailable}}
		}}
		d, _ := direct(bus, nil)
		d.lags = func() []lag {
			lags := []lag{{begun: began.Add(-1), oldest: time.Hour}, {begun: began, oldest: time.Second - 1}}
			if time.Since(began) >= 6*time.Second {
				lags = append(lags, lag{begun: began, oldest: time.Second})
			}
			return lags
		}

		require.NoError(t, d.play(t.Context(), actCalled(t, "the bus is down (503)").only()))

		require.InDelta(t, 6, time.Since(began).Seconds(), 0.1)
		require.Empty(t, d.evidence)
	})
}

// The bus is served after two seconds and paused then, the other one is served
// after four more.
func TestBusIsPausedOnceItIsServedAndUntilTheOtherOneIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, paused := time.Now(), time.Now().Add(2*time.Second)
		bus := &fakeBus{show: func(time.Duration) []eventbridgetest.Request {
			before := []eventbridgetest.Request{accepted(ordersBus), accepted("default")}
			switch lasted := time.Since(began); {
			case lasted >= 6*time.Second:
				return append(before, accepted(ordersBus), accepted(ordersBus), accepted("default"))
			case lasted >= 2*time.Second:
				return append(before, accepted(ordersBus))
			default:
				return before // they count for nothing
			}
		}}
		d, said := direct(bus, nil)
		d.lags = func() []lag { return []lag{{begun: paused, paused: 1}} }

		require.NoError(t, d.play(t.Context(), actCalled(t, "the operator pauses the bus orders").only()))

		require.InDelta(t, 6, time.Since(began).Seconds(), 0.1)
		require.Equal(t, evidence{paused: pause{bus: ordersBus, from: paused, to: time.Now()}}, d.evidence)
		require.Equal(t, &fakePauser{paused: []string{ordersBus}, resumed: []string{ordersBus}}, d.operator)
		require.Equal(t, "resumed; meanwhile 1 requests went to the other bus", (*said)[1])
	})
}

func TestPauseThatFailsEndsThePlay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("admin: refused")
		d, _ := direct(&fakeBus{show: func(time.Duration) []eventbridgetest.Request { return nil }}, nil)
		d.operator = &fakePauser{refusal: refused}

		require.ErrorIs(t, d.play(t.Context(), actCalled(t, "the operator pauses the bus orders").only()), refused)
	})
}

// only is a script of one act.
func (a act) only() []act { return []act{a} }

func accepted(bus string) eventbridgetest.Request {
	return eventbridgetest.Request{Accepted: 1, Entries: []eventbridgetest.Entry{{Bus: bus}}}
}

func request(outcome eventbridgetest.Outcome, accepted int, ids ...string) eventbridgetest.Request {
	r := eventbridgetest.Request{Outcome: outcome, Accepted: accepted, Count: len(ids), Arrived: time.Now()}
	for _, id := range ids {
		r.Entries = append(r.Entries, eventbridgetest.Entry{ID: id})
	}
	return r
}
