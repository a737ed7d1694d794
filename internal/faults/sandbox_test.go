package faults

import (
	"testing"

	"github.com/stretchr/testify/require"
	"outboxrelay/internal/eventbridgetest"
)

var sandboxFaults = []fault{
	{
		name:  "the sandbox is killed while a batch is at the bus",
		how:   "SIGKILL once the bus has accepted 20 events, and holds the answers",
		kills: true,
		twice: 20, // what was accepted was not yet recorded
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			f.Bus.Always(eventbridgetest.Latency(slow))
			relay := f.start(t, nil)
			run := relay.Begin(t)
			require.NoError(t, f.Bus.WaitAccepted(t.Context(), 20))
			require.NoError(t, relay.Kill())
			f.ends()
			relay.wait(t, run)
			relay.deliver(t)
		},
	},
}
