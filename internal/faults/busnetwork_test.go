package faults

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/relaytest"
)

// busNetworkFaults are those of the way to EventBridge.
var busNetworkFaults = []fault{
	{
		name:    "nothing answers at EventBridge's port",
		how:     "the proxy is down for a whole run",
		reports: "EventBridge at ",
		play:    func(t *testing.T, f *trial) { f.downForARun(t, f.bus) },
	},
	elsewhere("a subnet has no route to EventBridge", "an address that swallows every packet, for a run; then one that answers",
		"interface endpoint for events", func(t *testing.T) string { t.Helper(); return "http://" + relaytest.Blackhole(t) }),
	elsewhere("EventBridge's name does not resolve", "a name that no resolver knows, for a run; then the address",
		"The name cannot be resolved", func(*testing.T) string { return "http://events..invalid" }), // two dots: no resolver is asked
	{
		name:  "the connection goes silent once the bus has accepted",
		how:   "toxiproxy lets nothing of one answer through; the request is given up after a second",
		twice: 10,
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			gate := f.bus.gate(t, replies, says("EventId"))
			relay := f.start(t, relaytest.Settings{"PUT_EVENTS_TIMEOUT": "1s"})
			run := relay.Begin(t)
			gate.wait(t)
			f.ends()
			relay.wait(t, run)
			relay.deliver(t)
			require.Len(t, f.responses, 1)
		},
	},
	slowWay("the network to EventBridge takes 200 ms", "toxiproxy: latency of 200 ms for answers; 1,000 events", "latency", map[string]any{"latency": 200}),
	slowWay("the network to EventBridge is narrow", "toxiproxy: bandwidth of 100 KB/s for requests; 1,000 events", "bandwidth", map[string]any{"rate": 100}),
	slowWay("the network to EventBridge breaks everything into pieces", "toxiproxy: slicer, 100 bytes every ms; 1,000 events", "slicer",
		map[string]any{"average_size": 100, "size_variation": 50, "delay": 1}),
}

// elsewhere is a relay that looks for EventBridge where it is not, until its settings
// or its network are corrected.
func elsewhere(name, how, reports string, address func(t *testing.T) string) fault {
	return faultOf(name, how, reports, func(t *testing.T, f *trial) {
		f.Insert(t, 20)
		f.start(t, relaytest.Settings{"AWS_ENDPOINT_URL_EVENTBRIDGE": address(t)}).run(t)
		require.Equal(t, 20, f.Untouched(t))
		f.ends()
		f.start(t, nil).deliver(t)
	})
}

// slowWay is a network that is slow for all of a run.
func slowWay(name, how, toxic string, attributes map[string]any) fault {
	return faultOf(name, how, "", func(t *testing.T, f *trial) {
		f.Insert(t, 1_000)
		stream := requests
		if toxic == "latency" {
			stream = replies
		}
		f.bus.add(t, toxic, stream, attributes)
		relay := f.start(t, nil)
		f.ends()
		relay.deliver(t)
		require.Len(t, f.responses, 1)
	})
}
