// Package lambdatest runs a function's real bootstrap binary on this machine,
// under AWS's Lambda Runtime Interface Emulator: as a process of its own that
// can be killed, stopped and timed out like a sandbox in the cloud.
//
// The emulator differs from Lambda in what follows.
//
//   - The sandbox is initialised by the first invocation, within its time
//     limit. Until then there is no bootstrap process.
//   - It takes one invocation at a time, and a second one at once crashes it:
//     [Function.Invoke] queues them.
//   - Memory is announced to the function but not limited.
//   - Every process here dies with the one that started it, also when that one
//     is killed: see watchdog.sh.
//
// Nothing here needs a test: [Open] serves the demo and the benchmarks.
package lambdatest
