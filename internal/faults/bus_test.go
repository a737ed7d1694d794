package faults

import (
	"testing"
	"time"

	"outboxrelay/internal/eventbridgetest"
)

// slow is how long a bus takes to answer where something is to happen meanwhile.
const slow = time.Second

var busFaults = []fault{
	{
		name:  "the bus accepts a request and its answer is lost",
		how:   "the first 3 of the stand-in's answers are not sent, and their connections are closed",
		twice: 30, // the fate of those requests is unknown
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 30)
			f.Bus.Script(eventbridgetest.Repeat(3, eventbridgetest.AcceptThenDrop())...)
			relay := f.start(t, nil)
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name:    "nothing answers at EventBridge's port",
		how:     "the proxy is down for a whole run",
		reports: "EventBridge at ",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			relay := f.start(t, nil)
			f.bus.down()
			relay.run(t)
			f.bus.up(t)
			f.ends()
			relay.deliver(t)
		},
	},
}
