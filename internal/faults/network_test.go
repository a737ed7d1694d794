package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/relaytest"
)

// brief are the settings of runs that have no time to spare.
var brief = relaytest.Settings{"RELAY_RESERVE": "1s", "PUT_EVENTS_TIMEOUT": "1s"}

// resetFaults are connections to the database that end with a reset.
var resetFaults = []fault{
	{
		name: "the idle connection of a run that polls is reset",
		how:  "reset of all connections once the run has polled; 20 events are written after that",
		play: func(t *testing.T, f *trial) {
			gate := f.database.gate(t, replies, nowhere)
			relay := f.startWithin(t, 7*time.Second, polls)
			run := relay.Begin(t)
			f.await(t, idle)
			gate.shut()
			gate.cut()
			f.Insert(t, 20)
			f.ends()
			f.delivers(t)
			relay.wait(t, run)
		},
	},
	{
		name: "the connection is reset while a claim's rows are on the way",
		how:  "reset before the first row passes",
		play: func(t *testing.T, f *trial) { f.resetsAt(t, f.database, replies, says(anEvent)) },
	},
	{
		name: "the connection is reset before a batch's commit arrives",
		how:  "reset before COMMIT passes; the bus has accepted 20 events",
		play: func(t *testing.T, f *trial) { f.resetsAt(t, f.database, requests, says(committing)) },
	},
	{
		name: "the connection is reset after a batch's commit has arrived",
		how:  "reset before the answer to COMMIT passes; the bus has accepted 20 events",
		play: func(t *testing.T, f *trial) { f.resetsAt(t, f.database, replies, says(committing)) },
	},
}

// resetsAt resets the connection by way of a proxy that comes to a place.
func (f *trial) resetsAt(t *testing.T, by *proxy, stream string, place place) {
	t.Helper()
	f.Insert(t, 20)
	gate := by.gate(t, stream, place)
	relay := f.start(t, nil)
	run := relay.Begin(t)
	gate.wait(t)
	f.ends()
	gate.cut()
	relay.wait(t, run)
	relay.deliver(t)
}

// silentFaults are connections to the database on which nothing arrives any more,
// without an end.
var silentFaults = []fault{
	{
		name:    "the idle connection of a run that polls goes silent",
		how:     "nothing passes on the connection any more, nor its end, once the run has polled; 20 events are written after that",
		reports: "look for what keeps the database or the network",
		play: func(t *testing.T, f *trial) {
			gate := f.database.gate(t, replies, nowhere)
			relay := f.startWithin(t, 7*time.Second, polls)
			run := relay.Begin(t)
			f.await(t, idle)
			gate.shut()
			f.Insert(t, 20)
			relay.wait(t, run)
			f.ends()
			// A poll that was on its way may have locked the rows: that ends by itself.
			f.startWithin(t, time.Minute, polls).Begin(t)
			f.delivers(t)
		},
	},
	{
		name: "the connection goes silent while the session starts",
		how:  "the server's first answer does not pass, DATABASE_CONNECT_TIMEOUT is 500 ms; other connections work",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			gate := f.database.gate(t, replies, past(0))
			relay := f.start(t, relaytest.Settings{"DATABASE_CONNECT_TIMEOUT": "500ms"})
			run := relay.Begin(t)
			gate.wait(t)
			f.ends()
			relay.wait(t, run)
			relay.deliver(t)
		},
	},
	{
		name: "the connection goes silent while a claim's rows are on the way",
		how: "from the first row on nothing passes on the connection, nor its end, so that the server keeps the locks; others work, " +
			"and the function has a minute",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			gate := f.database.gate(t, replies, says(anEvent))
			relay := f.startWithin(t, time.Minute, nil)
			run := relay.Begin(t)
			gate.wait(t)
			f.ends()
			relay.wait(t, run)
			f.RequireNoLocks(t)
			relay.deliver(t)
		},
	},
	{
		name: "the connection goes silent before a batch's commit arrives",
		how:  "from COMMIT on nothing passes on the connection, nor its end, so that the server keeps the locks; the bus has accepted 20 events",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			gate := f.database.gate(t, requests, says(committing))
			relay := f.start(t, nil)
			run := relay.Begin(t)
			gate.wait(t)
			f.ends()
			relay.wait(t, run)
			relay.deliver(t)
		},
	},
	{
		name: "the connection goes silent after a batch's commit has arrived",
		how:  "from the answer to COMMIT on nothing passes on the connection; the bus has accepted 20 events, and the function has 8 seconds",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			gate := f.database.gate(t, replies, says(committing))
			relay := f.startWithin(t, 8*time.Second, brief)
			run := relay.Begin(t)
			gate.wait(t)
			f.ends()
			relay.wait(t, run)
			relay.deliver(t)
		},
	},
	{
		name:    "the network to the database fails before a batch's commit arrives, until after the deadline",
		how:     "from COMMIT on nothing passes on any connection; the bus has accepted 10 events, and the function has 8 seconds",
		reports: "10 accepted events could not all be recorded; those will be sent again, with the same ids",
		twice:   10, // there was no way to record them
		play:    func(t *testing.T, f *trial) { f.failsUntilTheDeadline(t, requests) },
	},
	{
		name:    "the network to the database fails after a batch's commit has arrived, until after the deadline",
		how:     "from the answer to COMMIT on nothing passes on any connection; the bus has accepted 10 events, and the function has 8 seconds",
		reports: "10 accepted events could not all be recorded; those will be sent again, with the same ids",
		play:    func(t *testing.T, f *trial) { f.failsUntilTheDeadline(t, replies) },
	},
}

// failsUntilTheDeadline makes the whole network silent at a commit, or at the
// answer to it.
func (f *trial) failsUntilTheDeadline(t *testing.T, stream string) {
	t.Helper()
	f.Insert(t, 10)
	gate := f.database.gateEvery(t, stream, says(committing))
	relay := f.startWithin(t, 8*time.Second, brief)
	response := relay.run(t)
	require.Contains(t, response.ErrorMessage, "deadline")
	f.RequireNoFalseMark(t)
	f.ends()
	gate.cut()
	f.RequireNoLocks(t)
	relay.deliver(t)
}

// slowFaults are networks that lose nothing, and are slow.
var slowFaults = []fault{
	{
		name: "the network to the database takes 100 ms each way",
		how:  "latency of 100 ms, give or take 50, in both directions; 200 events",
		play: func(t *testing.T, f *trial) {
			latency := map[string]any{"latency": 100, "jitter": 50}
			f.database.add(t, "latency", requests, latency)
			f.database.add(t, "latency", replies, latency)
			f.delivered200(t)
		},
	},
	{
		name: "the network to the database is narrow",
		how:  "100 KB a second in both directions; 200 events",
		play: func(t *testing.T, f *trial) {
			f.database.add(t, "bandwidth", requests, map[string]any{"rate": 100})
			f.database.add(t, "bandwidth", replies, map[string]any{"rate": 100})
			f.delivered200(t)
		},
	},
	{
		name: "the network to the database breaks everything into pieces",
		how:  "packets of 50 bytes, give or take 40, and 50 µs between two, in both directions; 200 events",
		play: func(t *testing.T, f *trial) {
			pieces := map[string]any{"average_size": 50, "size_variation": 40, "delay": 50}
			f.database.add(t, "slicer", requests, pieces)
			f.database.add(t, "slicer", replies, pieces)
			f.delivered200(t)
		},
	},
}

// delivered200 delivers 200 events, all the while that something is wrong.
func (f *trial) delivered200(t *testing.T) {
	t.Helper()
	f.Insert(t, 200)
	relay := f.start(t, nil)
	f.ends()
	relay.deliver(t)
}

// downForARun is a proxy without a server behind it, for a run.
func (f *trial) downForARun(t *testing.T, proxy *proxy) {
	t.Helper()
	f.Insert(t, 20)
	relay := f.start(t, nil)
	proxy.down()
	relay.run(t)
	require.Equal(t, 20, f.Untouched(t))
	proxy.up(t)
	f.ends()
	relay.deliver(t)
}

// connectFaults keep a run from connecting.
var connectFaults = []fault{
	{
		name:    "nothing answers at the database's port",
		how:     "the proxy is down for a whole run",
		reports: "check the port, and that the database runs",
		play:    func(t *testing.T, f *trial) { f.downForARun(t, f.database) },
	},
	{
		name:    "a database that was paused takes longer to wake than the function waits",
		how:     "connections are accepted and not answered for a whole run, DATABASE_CONNECT_TIMEOUT is 500 ms",
		reports: "a paused database takes longer (DATABASE_CONNECT_TIMEOUT)",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			gate := f.database.gateEvery(t, requests, past(0))
			relay := f.start(t, relaytest.Settings{"DATABASE_CONNECT_TIMEOUT": "500ms"})
			relay.run(t)
			gate.open()
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name: "a database that was paused takes seconds to wake",
		how:  "each answer takes a second, so that connecting takes several; the function has the default DATABASE_CONNECT_TIMEOUT",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			f.database.add(t, "latency", replies, map[string]any{"latency": 1000})
			relay := f.start(t, nil)
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name:    "the database's name does not resolve",
		how:     "a host name without an address in DATABASE_URL, until another sandbox has the right one",
		reports: "check the host name, and that the function's VPC resolves it",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			// Two dots in a row: the resolver knows by itself that there is no such name.
			lost := f.start(t, relaytest.Settings{"DATABASE_URL": "postgres://relay@db..internal/shop?sslmode=disable"})
			lost.run(t)
			f.ends()
			f.start(t, nil).deliver(t)
		},
	},
}

// A backend that writes to a sandbox that has stopped in the middle of receiving
// is in a write to a full socket. Neither the statement's limit nor the idle one
// ends that. (The gate only holds the answer up until the function has stopped: for
// the server, the function stands still from then on. The rows are wide, because a
// statement that is cancelled ends after a row, for which the socket may just have
// room. The server is the trial's own, because a backend in that state makes every
// DROP DATABASE wait.)
var frozenFault = fault{
	name: "the sandbox is frozen while it receives a claim",
	how:  "SIGSTOP after 2 MB of 40 MB, until another sandbox has delivered the events",
	play: func(t *testing.T, f *trial) {
		const rows = 20
		f.alone(t, postgrestest.Options{}, eventbridgetest.WithRecording(eventbridgetest.RecordIDs))
		f.InsertLarge(t, rows, 900_000)
		f.DB.Exec(t, "UPDATE outbox SET headers = payload")
		wide := relaytest.Settings{"RELAY_BATCH_BYTES": "100000000", "EVENT_ENVELOPE": "raw"}
		gate := f.database.gate(t, replies, past(2<<20))
		frozen := f.startWithin(t, 3*time.Minute, wide)
		other := f.startWithin(t, time.Minute, relaytest.Settings{
			"RELAY_POLL_INTERVAL": "500ms", "EVENT_ENVELOPE": "raw", "DATABASE_URL": f.Login.URL,
		})
		run := frozen.Begin(t)
		gate.wait(t)
		require.NoError(t, frozen.Stop())
		f.await(t, writing)
		f.ends()
		promised := within(t, 30*time.Second)
		other.Begin(t)
		require.NoError(t, f.Bus.WaitAccepted(promised, rows), "the rows are still locked")
		f.delivers(t)

		gate.open()
		require.NoError(t, frozen.Cont())
		require.Zero(t, relaytest.Successful(t, frozen.wait(t, run)).Published)
		f.RequireNoLocks(t)
	},
}

// A subnet without a route to the database swallows every packet.
func TestNamesTheDatabaseThatCannotBeReached(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	address := relaytest.Blackhole(t)
	relay := s.StartWithin(t, 15*time.Second, relaytest.Settings{"DATABASE_URL": "postgres://relay@" + address + "/shop?sslmode=disable"})

	reason := relay.Fail(t)
	require.Contains(t, reason, "connect to postgres at "+address)
	require.Contains(t, reason, "security group")
}

func TestNamesTheDatabaseThatIsDownAndNoPassword(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	address := relaytest.Nobody(t)
	relay := s.Start(t, relaytest.Settings{"DATABASE_URL": "postgres://relay:secret@" + address + "/shop?sslmode=disable"})

	reason := relay.Fail(t)
	require.Contains(t, reason, "connect to postgres at "+address+"/shop as relay")
	require.Contains(t, reason, "check the port, and that the database runs")
	require.NotContains(t, reason, "secret")
}
