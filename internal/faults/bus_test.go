package faults

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/relaytest"
)

// slow is how long a bus takes to answer where something is to happen meanwhile.
const slow = time.Second

// few is how often an event is sent in one run at the most, whatever goes wrong.
const few = 5

var busFaults = slices.Concat(outageFaults, throttledFaults, passingFaults, entryFaults, operatorFaults, busNetworkFaults, busLimitFaults)

// outage is a fault that every request meets for one whole run. It costs no event an
// attempt, and is no storm of requests.
func outage(name, how, reports string, fault eventbridgetest.Fault) fault {
	return outageAs(name, how, reports, fault, nil)
}

func outageAs(name, how, reports string, fault eventbridgetest.Fault, env relaytest.Settings) fault {
	const events = 20
	return faultOf(name, how, reports, func(t *testing.T, f *trial) {
		f.Insert(t, events)
		f.Bus.Always(fault)
		relay := f.start(t, env)
		relay.run(t)
		require.Equal(t, events, f.Untouched(t))
		f.RequireFewTries(t, few)
		f.Bus.Clear()
		f.ends()
		relay.deliver(t)
	})
}

func faultOf(name, how, reports string, play func(*testing.T, *trial)) fault {
	return fault{name: name, how: how, reports: reports, play: play}
}

// outageFaults are buses that take nothing for a whole run.
var outageFaults = []fault{
	outage("the bus is down", "503 to every request of a run", "ServiceUnavailable", eventbridgetest.Unavailable()),
	outage("the bus has internal errors", "500 to every request of a run", "InternalException", eventbridgetest.InternalException()),
	outage("the bus closes every connection without an answer", "requests are read, not accepted, and their connections closed, for a run",
		"EventBridge at ", eventbridgetest.Drop()),
	outageAs("the bus reads requests and does not answer", "no byte of an answer for a run",
		"EventBridge at ", eventbridgetest.Hang(), hurried),
	outageAs("the bus stops in the middle of each answer", "half of each answer's body for a run; nothing was accepted",
		"EventBridge at ", eventbridgetest.Both(eventbridgetest.HangMidBody(), eventbridgetest.WithoutAccepting()), hurried),
	outage("answers cannot be read", "something else than JSON in place of each answer, for a run; nothing was accepted",
		"bus default", eventbridgetest.Both(eventbridgetest.GarbageBody(), eventbridgetest.WithoutAccepting())),
	outage("answers are empty", "no body in each answer, for a run; nothing was accepted",
		"bus default", eventbridgetest.Both(eventbridgetest.EmptyBody(), eventbridgetest.WithoutAccepting())),
	outage("the role's credentials have expired", "ExpiredTokenException to every request of a run", "ExpiredToken", eventbridgetest.ExpiredToken()),
	faultOf("the bus does not say whether it is there", "500 to every DescribeEventBus of a run", "DescribeEventBus", func(t *testing.T, f *trial) {
		f.Insert(t, 20)
		f.Bus.AlwaysDescribe(eventbridgetest.InternalException())
		relay := f.start(t, nil)
		relay.run(t)
		require.Equal(t, 20, f.Untouched(t))
		f.Bus.Clear()
		f.ends()
		relay.deliver(t)
	}),
	outage("signatures are refused", "InvalidSignatureException to every request of a run", "InvalidSignature", eventbridgetest.InvalidSignature()),
}

// hurried are settings with which a request is given up soon.
var hurried = relaytest.Settings{"PUT_EVENTS_TIMEOUT": "500ms"}

// passing is a fault that some requests meet, and that the run itself gets over.
func passing(name, how string, events, twice int, meet func(f *trial)) fault {
	return fault{name: name, how: how, twice: twice, play: func(t *testing.T, f *trial) {
		f.Insert(t, events)
		meet(f)
		relay := f.start(t, nil)
		f.ends()
		relay.deliver(t)
		require.Len(t, f.responses, 1)
	}}
}

// throttledFaults are spells in which the bus takes less than there is.
var throttledFaults = []fault{{
	name:    "the bus throttles everything",
	how:     "every request of a run is throttled, with 20 events",
	reports: "ThrottlingException",
	play: func(t *testing.T, f *trial) {
		f.Insert(t, 20)
		f.Bus.Always(eventbridgetest.Throttle())
		relay := f.start(t, nil)
		relay.run(t)
		require.Equal(t, 20, f.Untouched(t))
		f.RequireFewTries(t, 3*few) // ever more slowly
		f.Bus.Clear()
		f.ends()
		relay.deliver(t)
	},
}, {
	name: "the bus takes 20 requests a second",
	how:  "the rest is throttled, by turns as a whole and entry by entry, with 1,000 events, for all of the time",
	play: func(t *testing.T, f *trial) {
		f.Insert(t, 1_000)
		f.Bus.Always(eventbridgetest.RateLimit(20, nil))
		relay := f.start(t, nil)
		relay.run(t)
		require.NotZero(t, f.throttled())
		require.Less(t, f.throttled(), f.Bus.Stats().Requests/2, "it does not slow down")
		f.RequireOnce(t)
		f.Elapse(t)
		f.ends()
		relay.deliver(t)
		require.Zero(t, f.DB.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
	},
}}

// throttled counts the requests of which nothing was accepted.
func (f *trial) throttled() (n int) {
	for _, request := range f.Bus.Requests() {
		if request.Accepted == 0 {
			n++
		}
	}
	return n
}

// passingFaults are over before the run is.
var passingFaults = []fault{
	passing("the bus accepts a request and its answer is lost", "the first 3 answers are not sent, and their connections closed",
		30, 30, func(f *trial) { f.Bus.Script(eventbridgetest.Repeat(3, eventbridgetest.AcceptThenDrop())...) }),
	passing("the bus accepts a request and breaks off its answer", "the first 3 answers end in mid-body",
		30, 30, func(f *trial) { f.Bus.Script(eventbridgetest.Repeat(3, eventbridgetest.BreakMidBody())...) }),
	passing("the bus accepts a request and its answer cannot be read", "half a JSON text, something else, and nothing in place of the first 3 answers",
		30, 30, func(f *trial) {
			f.Bus.Script(eventbridgetest.HalfBody(), eventbridgetest.GarbageBody(), eventbridgetest.EmptyBody())
		}),
	passing("an answer tells of fewer entries than were sent", "3 results for 10 entries in the first 2 answers",
		30, 20, func(f *trial) { f.Bus.Script(eventbridgetest.Repeat(2, eventbridgetest.EntryCount(3))...) }),
	passing("the bus fails for a moment", "503 to the first 5 requests", 100, 0,
		func(f *trial) { f.Bus.Script(eventbridgetest.Repeat(5, eventbridgetest.Unavailable())...) }),
	passing("one of the bus's hosts fails", "500 to each 20th request, with 2,000 events", 2_000, 0, func(f *trial) {
		n := 0
		f.Bus.When(func(eventbridgetest.Request) eventbridgetest.Fault {
			if n++; n%20 == 0 {
				return eventbridgetest.InternalException()
			}
			return nil
		})
	}),
	passing("one of the bus's hosts is slow", "1 answer of 10, at random, takes 500 ms, with 1,000 events", 1_000, 0,
		func(f *trial) { f.Bus.Always(eventbridgetest.Sometimes(1, 0.1, eventbridgetest.Latency(slow/2))) }),
	passing("an answer is ten minutes late and sets the clock back by which requests are signed",
		"a stale Date in the first answer; signatures that are off are refused until an answer has the right Date", 30, 0,
		func(f *trial) { f.Bus.Script(eventbridgetest.StaleDate(10 * time.Minute)) }),
	passing("credentials expire in mid-run", "ExpiredTokenException to the 4th to 6th request of 20", 200, 0, func(f *trial) {
		f.Bus.Script(append(eventbridgetest.Repeat(3, eventbridgetest.None()), eventbridgetest.Repeat(3, eventbridgetest.ExpiredToken())...)...)
	}),
	passing("a request is refused for its size although it is within the limit", "413 to every request of more than 2 entries", 30, 0, func(f *trial) {
		f.Bus.When(func(r eventbridgetest.Request) eventbridgetest.Fault {
			if r.Count > 2 {
				return eventbridgetest.TooLarge()
			}
			return nil
		})
	}),
}
