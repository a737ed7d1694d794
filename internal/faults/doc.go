// Package faults breaks what the relay depends on, on purpose, and shows what
// comes of it: databases, networks, buses, secrets and sandboxes. It runs the real
// binary under the Lambda emulator, with a real PostgreSQL and the stand-in for
// EventBridge, each behind Toxiproxy.
//
// Every fault is a row of docs/faults.md, which `make faults` writes.
package faults
