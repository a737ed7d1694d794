package faults

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/relaytest"
)

// freezeFaults are sandboxes that stand still in the middle of a run. (Lambda
// freezes them between runs only. A host that is short of time, or that is moved,
// does this.)
var freezeFaults = []fault{
	{
		name: "the sandbox is frozen while a batch is at the bus",
		how:  "SIGSTOP once the bus has accepted 20 events, until it has answered",
		play: func(t *testing.T, f *trial) { f.frozenUntilAnswered(t, nil) },
	},
	{
		name: "the sandbox is frozen for longer than a request may take",
		how:  "SIGSTOP once the bus has accepted 20 events, for the second until it has answered; PUT_EVENTS_TIMEOUT is 500 ms",
		upTo: 20, // both the answer and the end of the time limit are there at once
		play: func(t *testing.T, f *trial) { f.frozenUntilAnswered(t, hurried) },
	},
	{
		name:  "the sandbox is frozen while a batch is at the bus, and the server gives the rows to another",
		how:   "SIGSTOP once the bus has accepted 20 events, the end of the session, a run of another sandbox, SIGCONT",
		twice: 20, // the other could not know of them
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			frozen, other := f.start(t, nil), f.start(t, nil)
			thawed := f.whileAtTheBus(t, frozen, func() { require.NoError(t, frozen.Stop()) })
			f.terminates(t)
			f.Bus.Clear()
			other.run(t)
			require.Zero(t, f.Pending(t))
			before := f.rows(t)
			f.ends()
			require.NoError(t, frozen.Cont())
			thawed()
			require.Equal(t, before, f.rows(t), "the rows were another's")
			frozen.deliver(t)
		},
	},
	{
		name: "the sandbox is frozen while the bus refuses a batch, and another one publishes it",
		how:  "SIGSTOP while the bus is about to fail 20 entries, the end of the session, a run of another sandbox, SIGCONT",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			refusal := eventbridgetest.Both(eventbridgetest.FailEntries("InternalFailure", "try again"), eventbridgetest.Latency(slow))
			f.Bus.Script(eventbridgetest.Repeat(2, refusal)...)
			frozen, other := f.start(t, nil), f.start(t, nil)
			run := frozen.Begin(t)
			require.NoError(t, f.Bus.WaitRequests(t.Context(), 2))
			require.NoError(t, frozen.Stop())
			f.terminates(t)
			other.run(t)
			require.Zero(t, f.Pending(t))
			before := f.rows(t)
			require.NoError(t, f.Bus.WaitIdle(t.Context()))
			f.ends()
			require.NoError(t, frozen.Cont())
			frozen.wait(t, run)
			require.Equal(t, before, f.rows(t), "the rows were published")
			frozen.deliver(t)
		},
	},
	{
		name: "the sandbox is frozen with requests on the way, and another one publishes the events first",
		how:  "SIGSTOP before the first request passes, the end of the session, a run of another sandbox; then the requests arrive",
		upTo: 20, // the bus takes what arrives late, too
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			gate := f.bus.gateEvery(t, requests, says("AWSEvents.PutEvents"))
			frozen := f.start(t, nil)
			other := f.start(t, relaytest.Settings{"AWS_ENDPOINT_URL_EVENTBRIDGE": f.Bus.URL()})
			run := frozen.Begin(t)
			gate.wait(t)
			require.NoError(t, frozen.Stop())
			f.terminates(t)
			other.run(t)
			require.Zero(t, f.Pending(t))
			before := f.rows(t)
			f.ends()
			gate.open()
			require.NoError(t, frozen.Cont())
			frozen.wait(t, run)
			require.Equal(t, before, f.rows(t), "the rows were another's")
			frozen.deliver(t)
		},
	},
}

func (f *trial) frozenUntilAnswered(t *testing.T, env relaytest.Settings) {
	t.Helper()
	f.Insert(t, 20)
	relay := f.start(t, env)
	thawed := f.whileAtTheBus(t, relay, func() { require.NoError(t, relay.Stop()) })
	require.NoError(t, f.Bus.WaitIdle(t.Context()))
	f.Bus.Clear()
	f.ends()
	require.NoError(t, relay.Cont())
	thawed()
	relay.deliver(t)
	require.Len(t, f.responses, 1)
}

// rows are all that the relay may write to the events.
func (f *trial) rows(t *testing.T) string {
	t.Helper()
	return postgrestest.Scalar[string](t, f.DB,
		"SELECT string_agg(concat_ws(' ', seq, published_at, attempts, retry_at, last_error), ', ' ORDER BY seq) FROM outbox")
}
