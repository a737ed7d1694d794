// Command demo shows the functions at work, and proves what it shows.
//
// It starts a real PostgreSQL, a stand-in for EventBridge and the real functions
// under the Lambda emulator, all on this machine. The function migrate makes the
// tables. Producers write orders and their events for about 20 seconds, each
// order with its events in one transaction, while relay, lag and cleanup run on
// schedules of their own. Meanwhile the relay is killed in the middle of a batch,
// the bus throttles, is down, and hangs up after it has accepted events, and an
// operator pauses a bus. Then the operator mends what failed, and has the
// function admin discard what cannot be mended and redrive the rest.
//
// At the end the ledger of what the producers committed is held against what
// the bus accepted and what the failed table said, and the numbers that the
// functions answered against what is in the tables. The demo fails when an event
// was lost or invented, and also when one of the faults did not happen: a demo
// that nothing befell would prove nothing. What the ledger is held against never
// depends on rows that cleanup deletes.
package main

import "os"

func main() { os.Exit(run(os.Stdout, os.Stderr, script)) }
