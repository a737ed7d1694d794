package faults

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/relaytest"
)

// busLimitFaults are buses at the edge of what a run can do, and a way to them that
// breaks at the worst of moments.
var busLimitFaults = []fault{
	{
		name: "the connection to the bus is reset before a request arrives",
		how:  "reset before the first of 2 requests passes",
		play: func(t *testing.T, f *trial) { f.busResetsAt(t, requests, says("AWSEvents.PutEvents")) },
	},
	{
		name:  "the connection to the bus is reset before an answer arrives",
		how:   "reset before the first of 2 answers passes; the bus has accepted the events",
		twice: 10, // the fate of that request is unknown
		play:  func(t *testing.T, f *trial) { f.busResetsAt(t, replies, says(`"EventId"`)) },
	},
	{
		name: "the bus is too slow for all events to be sent in a run",
		how:  "answers take 2 seconds, the function has 8, and may have 4 requests at once; 1,000 events; then the bus is fast again",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 1_000)
			f.Bus.Always(eventbridgetest.Latency(2 * slow))
			relay := f.startWithin(t, 8*time.Second, relaytest.Settings{
				"RELAY_RESERVE": "1s", "PUT_EVENTS_TIMEOUT": "3s", "RELAY_CONCURRENCY": "4",
			})
			answer := relaytest.Successful(t, relay.run(t))
			require.Equal(t, "budget", answer.Stopped)
			require.NotZero(t, answer.Published)
			require.Equal(t, answer.Published, f.Published(t))
			require.Equal(t, answer.Published, f.Bus.Stats().Accepted, "something was accepted and not recorded")
			f.Bus.Clear()
			f.ends()
			relay.deliver(t)
		},
	},
	oneOfTwoBuses("one of two buses throttles everything", "every request for the bus of 10 of 20 events is throttled, for a run of 5 seconds",
		"everything was throttled", eventbridgetest.Throttle(), func(t *testing.T, f *trial) sandbox {
			t.Helper()
			return f.startWithin(t, 5*time.Second, brief)
		}),
	{
		name:    "a proxy answers in the place of the bus",
		how:     "502 without an error code to every request of a run of 5 seconds",
		reports: "HTTP status 502",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			f.Bus.Always(eventbridgetest.Refuse(http.StatusBadGateway, "", ""))
			relay := f.startWithin(t, 5*time.Second, brief)
			relay.run(t)
			require.Equal(t, 20, f.Untouched(t))
			f.Bus.Clear()
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name:    "the certificate of the bus is not one to be trusted",
		how:     "a certificate of an authority that nobody knows, for a run of 5 seconds; then another sandbox whose AWS_CA_BUNDLE has it",
		reports: "certificate signed by unknown authority",
		play: func(t *testing.T, f *trial) {
			f.around(t, relaytest.New(t, eventbridgetest.WithTLS()))
			f.Insert(t, 20)
			f.startWithin(t, 5*time.Second, brief).run(t)
			require.Equal(t, 20, f.Untouched(t))
			require.Zero(t, f.Bus.Stats().Requests)
			bundle := filepath.Join(t.TempDir(), "authority.pem")
			require.NoError(t, os.WriteFile(bundle, f.Bus.CertificatePEM(), 0o600))
			f.ends()
			f.start(t, relaytest.Settings{"AWS_CA_BUNDLE": bundle}).deliver(t)
		},
	},
}

// busResetsAt resets the connection to the bus that comes to a place: the run gets over it.
func (f *trial) busResetsAt(t *testing.T, stream string, place place) {
	t.Helper()
	f.resetsAt(t, f.bus, stream, place)
	require.Len(t, f.responses, 1)
}

// Consumers recognize a copy by its id, and may take either of them.
func TestTheCopiesOfAnEventAreTheSame(t *testing.T) {
	t.Parallel()

	f := newTrial(t)
	f.Insert(t, 30)
	f.Bus.Script(eventbridgetest.Repeat(3, eventbridgetest.AcceptThenDrop())...)
	f.start(t, nil).deliver(t)
	copies := f.Bus.AcceptedByID()
	require.Len(t, copies, 30)
	duplicates := 0
	for _, accepted := range copies {
		for _, again := range accepted[1:] {
			duplicates++
			require.Equal(t, accepted[0].Entry, again.Entry)
		}
	}
	require.NotZero(t, duplicates, "no answer was lost")
}

// What the SDK says of connections that broke is a line of JSON too.
func TestEveryLineOfTheLogIsJSONAlsoWhereConnectionsBreak(t *testing.T) {
	t.Parallel()

	for name, fault := range map[string]eventbridgetest.Fault{
		"BeforeTheHeaders":   eventbridgetest.Hang(),
		"InTheMiddleOfABody": eventbridgetest.Both(eventbridgetest.HangMidBody(), eventbridgetest.WithoutAccepting()),
		"WithoutAnswer":      eventbridgetest.Drop(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := newTrial(t)
			f.Insert(t, 20)
			f.Bus.Always(fault)
			relay := f.startWithin(t, 5*time.Second, brief)
			message := relay.Fail(t)
			require.Contains(t, message, "bus default")
			require.Contains(t, message, "EventBridge at "+f.bus.Listen)
			f.RequireNoLocks(t)
			require.NotEmpty(t, relay.Lines(t))
		})
	}
}
