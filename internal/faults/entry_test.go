package faults

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/relaytest"
)

// entryFaults are single entries that the bus refuses, in requests that succeed.
var entryFaults = []fault{
	refusedEntries("an entry fails for a reason that passes", "InternalFailure for 3 entries of 30, for a run", "InternalFailure"),
	refusedEntries("an entry is throttled", "ThrottlingException for 3 entries of 30, for a run", "ThrottlingException"),
	refusedEntries("an entry fails with a code that nobody knows", "NewFailure for 3 entries of 30, for a run", "NewFailure"),
	{
		name: "every entry fails for a reason that passes",
		how:  "InternalFailure for all of 20 entries, for a run",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			f.Bus.Always(eventbridgetest.FailEntries("InternalFailure", "try again"))
			relay := f.start(t, nil)
			relay.run(t)
			f.RequireFewTries(t, few)
			require.Equal(t, 20, f.Pending(t))
			f.Bus.Clear()
			f.Elapse(t)
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name: "an entry can never be published",
		how:  "MalformedDetail for 3 events of 30, until the operator redrives them",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 27)
			f.InsertOf(t, "Bad", 3)
			f.Bus.Always(eventbridgetest.FailEntries("MalformedDetail", "Detail is malformed.", eventbridgetest.DetailType("Bad")))
			relay := f.start(t, nil)
			relay.run(t)
			require.Equal(t, 27, f.Published(t), "the others flow")
			require.Equal(t, 3, f.DB.QueryInt(t, "SELECT count(*) FROM outbox_failed WHERE error_code = 'MalformedDetail'"))
			f.Bus.Clear()
			f.DB.Exec(t, `
				INSERT INTO outbox (seq, id, event_type, payload) SELECT seq, id, event_type, payload FROM outbox_failed;
				DELETE FROM outbox_failed`)
			f.ends()
			relay.deliver(t)
		},
	},
}

// refusedEntries is a fault of a few entries, which are tried again in a later run.
func refusedEntries(name, how, code string) fault {
	return faultOf(name, how, "", func(t *testing.T, f *trial) {
		f.Insert(t, 27)
		f.InsertOf(t, "Unlucky", 3)
		f.Bus.Always(eventbridgetest.FailEntries(code, "no", eventbridgetest.DetailType("Unlucky")))
		relay := f.start(t, nil)
		relay.run(t)
		require.Equal(t, 27, f.Published(t), "the others flow")
		require.Equal(t, 3, f.Count(t, "attempts > 0 AND last_error LIKE '"+code+"%'"))
		f.Bus.Clear()
		f.Elapse(t)
		f.ends()
		relay.deliver(t)
	})
}

// operatorFaults pass when somebody has acted; until then nothing is written to the
// events, and other buses flow.
var operatorFaults = []fault{
	oneOfTwoBuses("the function's role may not publish", "AccessDeniedException to every request for a run", "AccessDenied",
		eventbridgetest.AccessDenied(), started),
	oneOfTwoBuses("the function's role may not publish some entries", "AccessDeniedException for the entries of a run", "AccessDenied",
		eventbridgetest.FailEntries("AccessDeniedException", "not allowed", eventbridgetest.Bus("orders")), started),
	{
		name:    "the bus is deleted and made again",
		how:     "the bus of 10 of 20 events does not exist for a run, of which PutEvents would say nothing",
		reports: `"orders"`,
		play: func(t *testing.T, f *trial) {
			f.around(t, relaytest.New(t, eventbridgetest.WithBuses("orders")))
			f.InsertFor(t, "orders", 10)
			f.Insert(t, 10)
			f.Bus.RemoveBus("orders")
			relay := f.start(t, nil)
			relay.run(t)
			require.Equal(t, 10, f.Published(t), "the other bus flows")
			require.Equal(t, 10, f.Untouched(t))
			require.Empty(t, f.Bus.Dropped())
			f.Bus.AddBus("orders")
			f.ends()
			relay.deliver(t)
		},
	},
	oneOfTwoBuses("one of two buses is down", "503 to every request for the bus of 10 of 20 events, for a run", "ServiceUnavailable",
		eventbridgetest.Unavailable(), started),
}

// forOrders are faults of the bus orders.
func forOrders(fault eventbridgetest.Fault) func(eventbridgetest.Request) eventbridgetest.Fault {
	return func(r eventbridgetest.Request) eventbridgetest.Fault {
		if len(r.Entries) > 0 && r.Entries[0].Bus == "orders" {
			return fault
		}
		return nil
	}
}

// started is a relay with the settings of every trial.
func started(t *testing.T, f *trial) sandbox {
	t.Helper()
	return f.start(t, nil)
}

// oneOfTwoBuses is a fault of one bus of two: the other flows, and nothing is written
// to the events that wait.
func oneOfTwoBuses(name, how, reports string, fault eventbridgetest.Fault, start func(*testing.T, *trial) sandbox) fault {
	return faultOf(name, how, reports, func(t *testing.T, f *trial) {
		f.around(t, relaytest.New(t, eventbridgetest.WithBuses("orders")))
		f.InsertFor(t, "orders", 10)
		f.Insert(t, 10)
		f.Bus.When(forOrders(fault))
		relay := start(t, f)
		relay.run(t)
		require.Equal(t, 10, f.Published(t), "the other bus flows")
		require.Equal(t, 10, f.Untouched(t))
		f.Bus.Clear()
		f.ends()
		relay.deliver(t)
	})
}
