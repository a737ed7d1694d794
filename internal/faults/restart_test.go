package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/relaytest"
)

// restartFaults are servers that stop and start.
var restartFaults = []fault{
	{
		name: "the database crashes and restarts while batches are at the bus",
		how:  "immediate shutdown and start of the server, 200 events, answers of the bus take a second",
		play: func(t *testing.T, f *trial) { f.restarts(t, postgrestest.Immediate) },
	},
	{
		name: "the database restarts in good order while batches are at the bus",
		how:  "fast shutdown and start of the server, 200 events, answers of the bus take a second",
		play: func(t *testing.T, f *trial) { f.restarts(t, postgrestest.Fast) },
	},
	{
		name: "the database restarts between two invocations of a sandbox",
		how:  "fast shutdown and start after a run, immediate ones after another; no session outlives its run",
		play: func(t *testing.T, f *trial) {
			server := f.alone(t, postgrestest.Options{})
			relay := f.start(t, nil)
			for _, how := range []postgrestest.Shutdown{postgrestest.Fast, postgrestest.Immediate} {
				f.Insert(t, 20)
				relay.run(t)
				require.Zero(t, f.Pending(t))
				f.await(t, "NOT EXISTS (SELECT FROM own)")
				require.NoError(t, server.Restart(t.Context(), how))
			}
			f.Insert(t, 20)
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name:    "the database shuts down, and waits for the sessions there are",
		how:     "smart shutdown while a batch is at the bus, which is recorded; then a run without a server; 20 events are written after the start",
		reports: "check the port, and that the database runs",
		play: func(t *testing.T, f *trial) {
			server := f.alone(t, postgrestest.Options{})
			f.Insert(t, 20)
			f.Bus.Always(eventbridgetest.Latency(slow))
			relay := f.start(t, relaytest.Settings{"DATABASE_URL": f.Login.URL}) // a proxy without a server would be one that answers
			run := relay.Begin(t)
			require.NoError(t, f.Bus.WaitAccepted(t.Context(), 20))
			require.NoError(t, server.Halt(postgrestest.Smart))
			require.Empty(t, relay.wait(t, run).ErrorMessage)
			relay.run(t)
			require.NoError(t, server.Resume(t.Context()))
			require.Zero(t, f.Pending(t))
			f.Insert(t, 20)
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name:    "the database shuts down, and others keep it from ending",
		how:     "smart shutdown with another session open, for a whole run",
		reports: "the server starts, stops or recovers: this passes",
		play: func(t *testing.T, f *trial) {
			server := f.alone(t, postgrestest.Options{})
			f.Insert(t, 20)
			other := f.DB.Conn(t)
			halted := make(chan error, 1)
			go func() { halted <- server.Halt(postgrestest.Smart) }()
			f.awaitRefusal(t, "57P03")
			relay := f.start(t, nil)
			relay.run(t)
			require.NoError(t, other.Close(t.Context()))
			require.NoError(t, <-halted)
			require.NoError(t, server.Resume(t.Context()))
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name:    "the database recovers from its log",
		how:     "a start in recovery, which waits for the archive for a whole run",
		reports: "the server starts, stops or recovers: this passes",
		play: func(t *testing.T, f *trial) {
			archive := newArchive(t)
			server := f.alone(t, postgrestest.Options{Settings: map[string]string{"restore_command": archive.command()}})
			f.Insert(t, 20)
			require.NoError(t, server.Halt(postgrestest.Fast))
			require.NoError(t, os.WriteFile(filepath.Join(server.SocketDirectory(), "data", "recovery.signal"), nil, 0o644))
			resumed := make(chan error, 1)
			go func() { resumed <- server.Resume(t.Context()) }()
			f.awaitRefusal(t, "57P03")
			relay := f.start(t, nil)
			relay.run(t)
			archive.open(t)
			require.NoError(t, <-resumed)
			f.ends()
			relay.deliver(t)
		},
	},
}

func (f *trial) restarts(t *testing.T, how postgrestest.Shutdown) {
	t.Helper()
	server := f.alone(t, postgrestest.Options{})
	f.Insert(t, 200)
	relay := f.start(t, nil)
	wait := f.whileAtTheBus(t, relay, func() { require.NoError(t, server.Restart(t.Context(), how)) })
	f.ends()
	wait()
	relay.deliver(t)
}

// awaitRefusal waits until the server refuses sessions with a SQLSTATE.
func (f *trial) awaitRefusal(t *testing.T, state string) {
	t.Helper()
	for limit := within(t, patience); ; {
		conn, err := f.DB.Connect(limit)
		if err != nil && strings.Contains(err.Error(), state) {
			return
		}
		if err == nil {
			require.NoError(t, conn.Close(limit))
		}
		require.NoError(t, limit.Err())
	}
}

// archive is one that the server's recovery has to wait for, and that then has
// nothing.
type archive struct{ directory string }

func newArchive(t *testing.T) archive {
	t.Helper()
	directory, err := os.MkdirTemp("", "outboxrelay-archive-") //nolint:usetesting // the server's user may not enter the test's
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(directory)) })
	a := archive{directory}
	require.NoError(t, syscall.Mkfifo(a.gate(), 0o644))
	require.NoError(t, os.Chmod(directory, 0o755))
	return a
}

func (a archive) gate() string { return filepath.Join(a.directory, "gate") }

func (a archive) opened() string { return filepath.Join(a.directory, "opened") }

// command waits until somebody opens the gate, and finds nothing.
func (a archive) command() string {
	return fmt.Sprintf("test -e %s || cat %s; false", a.opened(), a.gate())
}

func (a archive) open(t *testing.T) {
	t.Helper()
	require.NoError(t, os.WriteFile(a.opened(), nil, 0o644))
	gate, err := os.OpenFile(a.gate(), os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, gate.Close())
}
