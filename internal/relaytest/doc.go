// Package relaytest sets a scene for tests of the relay's real binary: a database
// with the tables, a login with the relay's rights and nothing more, the stand-in
// for EventBridge, and the function in a sandbox.
package relaytest
