// Command demo shows the relay at work, and proves what it shows.
//
// It starts a real PostgreSQL, a stand-in for EventBridge and the real relay
// under the Lambda emulator, all on this machine. Producers write orders and
// their events for about 20 seconds, each order with its events in one
// transaction. Meanwhile the relay is killed in the middle of a batch, the bus
// throttles, is down, and hangs up after it has accepted events.
//
// At the end the ledger of what the producers committed is held against what
// the bus accepted and what the failed table says. The demo fails when an event
// was lost or invented, and also when one of the faults did not happen: a demo
// that nothing befell would prove nothing.
package main

import "os"

func main() { os.Exit(run(os.Stdout, os.Stderr, script)) }
