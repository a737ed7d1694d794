package faults

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/relaytest"
)

// wakeFaults are what a warm sandbox finds changed in its next run.
var wakeFaults = []fault{
	{
		name: "the database restarts while the sandbox is frozen between two runs",
		how:  "SIGSTOP, immediate shutdown and start of the server, SIGCONT",
		play: func(t *testing.T, f *trial) {
			server := f.alone(t, postgrestest.Options{})
			relay := f.warm(t, nil)
			relay.asleep(t, func() { require.NoError(t, server.Restart(t.Context(), postgrestest.Immediate)) })
			f.deliversAtOnce(t, relay)
		},
	},
	{
		name: "the connections to the bus end while the sandbox is frozen between two runs",
		how:  "SIGSTOP, the proxy closes all connections, SIGCONT",
		play: func(t *testing.T, f *trial) {
			relay := f.warm(t, nil)
			relay.asleep(t, func() {
				f.bus.down()
				f.bus.up(t)
			})
			f.deliversAtOnce(t, relay)
		},
	},
	{
		name: "the connections to the bus go silent while the sandbox is frozen between two runs",
		how:  "SIGSTOP, from then on nothing passes on the connections that there are, nor their end, SIGCONT; PUT_EVENTS_TIMEOUT is 500 ms",
		play: func(t *testing.T, f *trial) {
			gate := f.bus.gate(t, requests, nowhere)
			relay := f.warm(t, hurried)
			relay.asleep(t, gate.shut)
			f.deliversAtOnce(t, relay)
		},
	},
	{
		name: "the clock of the sandbox is an hour late when it goes on",
		how:  "SIGSTOP, the bus's clock goes forward, also in its Date, SIGCONT; signatures that are off are refused",
		play: func(t *testing.T, f *trial) {
			var ahead atomic.Int64
			clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			f.around(t, relaytest.New(t, eventbridgetest.WithClock(clock)))
			relay := f.warm(t, nil)
			relay.asleep(t, func() {
				ahead.Store(int64(time.Hour))
				dated := eventbridgetest.Header("Date", clock().UTC().Format(http.TimeFormat))
				f.Bus.Always(dated)
				f.Bus.AlwaysDescribe(dated)
			})
			f.deliversAtOnce(t, relay)
			require.NotZero(t, f.Bus.Stats().Refused)
		},
	},
	{
		name:    "a bad spell of the bus leaves nothing behind in the sandbox",
		how:     "503 to half of the requests, at random, with 1,000 events; then 503 to all: it tries as often as a new sandbox does",
		reports: "ServiceUnavailable",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 1_000)
			f.Bus.Always(eventbridgetest.Sometimes(1, 0.5, eventbridgetest.Unavailable()))
			worn, fresh := f.startWithin(t, 5*time.Second, brief), f.startWithin(t, 5*time.Second, brief)
			worn.run(t)
			require.Greater(t, f.Bus.Stats().Refused, 80, "the spell was not so bad")
			f.Bus.Clear()
			fresh.deliver(t)
			f.Bus.Always(eventbridgetest.Unavailable())
			f.Insert(t, 1)
			require.InDelta(t, fresh.tries(t), worn.tries(t), 2)
			f.Bus.Clear()
			f.ends()
			worn.deliver(t)
		},
	},
}

// warm starts a relay and has it deliver some events.
func (f *trial) warm(t *testing.T, env relaytest.Settings) sandbox {
	t.Helper()
	f.Insert(t, 20)
	relay := f.start(t, env)
	relay.run(t)
	require.Zero(t, f.Pending(t))
	return relay
}

// asleep lets something happen while the sandbox is frozen.
func (s sandbox) asleep(t *testing.T, happens func()) {
	t.Helper()
	require.NoError(t, s.Stop())
	happens()
	require.NoError(t, s.Cont())
}

// deliversAtOnce says that the next run of a warm sandbox delivers more events.
func (f *trial) deliversAtOnce(t *testing.T, relay sandbox) {
	t.Helper()
	runs := len(f.responses)
	f.Insert(t, 20)
	f.ends()
	relay.deliver(t)
	require.Len(t, f.responses, runs+1)
}

// tries runs the relay and counts the requests.
func (s sandbox) tries(t *testing.T) int {
	t.Helper()
	before := s.trial.Bus.Stats().Requests
	s.run(t)
	return s.trial.Bus.Stats().Requests - before
}
