// Package eventbridgetest is a stand-in for Amazon EventBridge, the classic buses: an HTTP server on loopback that speaks
// enough of the AWS JSON 1.1 protocol for the real SDK (PutEvents, DescribeEventBus), enforces AWS's rules with AWS's errors,
// does what it is told to do wrong, and remembers what it accepted.
//
//	srv := eventbridgetest.New(t, eventbridgetest.WithBuses("orders"))
//	srv.Script(eventbridgetest.Throttle(), eventbridgetest.AcceptThenDrop())
//	srv.Always(eventbridgetest.FailEntries("InternalFailure", "try again", eventbridgetest.DetailType("OrderPlaced")).Times(3))
//	// ... run the relay against srv.URL() ...
//	require.NoError(t, srv.WaitAccepted(ctx, 10))
//	require.Len(t, srv.AcceptedByID(), 10)
//
// # What a request meets
//
// In this order: the faults of Always, of When and the next one of Script, added up; a scripted refusal; a body too large
// (413); signature and clock; AWS's rules for the request; then each entry's scripted error, or AWS's rules for it. An entry
// that passes is accepted if its bus exists, and otherwise answered with success and dropped, as AWS does.
//
// Acceptance is recorded before the answer is delayed, lost or spoiled: for a relay that is the harder case. WithoutAccepting,
// Hang, Drop and SlowAccept are the other one.
//
// Nothing is random unless a seed is given; event and request ids follow from the order of requests.
package eventbridgetest
