package main

import (
	"errors"
	"fmt"
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
	return &director{bus: bus, kill: kill, say: func(format string, args ...any) {
		said = append(said, fmt.Sprintf(format, args...))
	}}, &said
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

		require.NoError(t, d.play(t.Context(), []act{throttles}))

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
			if act.fault != nil {
				faults = append(faults, act)
			}
		}
		bus := &fakeBus{show: func(time.Duration) []eventbridgetest.Request { return nil }}
		d, _ := direct(bus, func() error { killed = true; return nil })

		require.NoError(t, d.play(t.Context(), faults))

		require.Equal(t, []string{
			"killing the relay in mid-batch", "the bus throttles", "the bus is down (503)", "the bus accepts and hangs up",
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

		require.NoError(t, d.play(t.Context(), []act{actCalled(t, "killing the relay in mid-batch")}))

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

		err := d.play(t.Context(), []act{actCalled(t, "killing the relay in mid-batch")})

		require.ErrorIs(t, err, refused)
		require.Equal(t, 1, bus.cleared)
	})
}

func request(outcome eventbridgetest.Outcome, accepted int, ids ...string) eventbridgetest.Request {
	r := eventbridgetest.Request{Outcome: outcome, Accepted: accepted, Count: len(ids), Arrived: time.Now()}
	for _, id := range ids {
		r.Entries = append(r.Entries, eventbridgetest.Entry{ID: id})
	}
	return r
}
