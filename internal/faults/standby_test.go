package faults

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgrestest"
)

// standbyFaults are failovers to a standby, by streaming replication.
var standbyFaults = []fault{
	{
		name:    "the connection leads to a standby until that is promoted",
		how:     "a run on the standby of a primary that has crashed, then pg_promote",
		reports: "the connection leads to a read-only server: use the endpoint of the writer",
		play: func(t *testing.T, f *trial) {
			pair := f.replicated(t)
			f.Insert(t, 20)
			relay := f.start(t, nil)
			require.NoError(t, pair.primary.Halt(postgrestest.Immediate))
			pair.leadsToStandby(t, f)
			relay.run(t)
			require.NoError(t, pair.standby.Promote(t.Context()))
			f.ends()
			relay.deliver(t)
		},
	},
	{
		name: "the database fails over while batches are at the bus",
		how: "immediate shutdown of the primary, promotion of a synchronous standby, and the endpoint leads there; 200 events, " +
			"answers of the bus take a second",
		play: func(t *testing.T, f *trial) {
			pair := f.replicated(t)
			f.Insert(t, 200)
			relay := f.start(t, nil)
			wait := f.whileAtTheBus(t, relay, func() {
				require.NoError(t, pair.primary.Halt(postgrestest.Immediate))
				require.NoError(t, pair.standby.Promote(t.Context()))
				pair.leadsToStandby(t, f)
			})
			f.ends()
			wait()
			relay.deliver(t)
		},
	},
	{
		name: "the database fails over, and the endpoint leads to the standby before that is promoted",
		how: "immediate shutdown of the primary while a batch is at the bus; the endpoint leads to the standby, which is promoted only once " +
			"it has refused to record the batch",
		play: func(t *testing.T, f *trial) {
			pair := f.replicated(t)
			f.Insert(t, 20)
			gate := f.database.gate(t, replies, says("C0A000")) // the refusal of BEGIN ... READ WRITE
			relay := f.start(t, nil)
			wait := f.whileAtTheBus(t, relay, func() {
				require.NoError(t, pair.primary.Halt(postgrestest.Immediate))
				pair.leadsToStandby(t, f)
			})
			gate.wait(t)
			require.NoError(t, pair.standby.Promote(t.Context()))
			f.ends()
			gate.open()
			wait()
			relay.deliver(t)
		},
	},
	{
		name:  "the database fails over and loses the last commits",
		how:   "immediate shutdown of the primary and promotion of an asynchronous standby that lacks the marks of 20 events",
		twice: 20, // the database has lost that they were published
		play: func(t *testing.T, f *trial) {
			pair := f.replicated(t)
			f.Insert(t, 20)
			require.NoError(t, pair.primary.Asynchronous(t.Context()))
			require.NoError(t, pair.standby.Detach(t.Context()))
			relay := f.start(t, nil)
			relay.run(t)
			require.Zero(t, f.Pending(t))
			require.NoError(t, pair.primary.Halt(postgrestest.Immediate))
			require.NoError(t, pair.standby.Promote(t.Context()))
			pair.leadsToStandby(t, f)
			require.Equal(t, 20, f.Pending(t))
			f.ends()
			relay.deliver(t)
		},
	},
}

// pair is a primary and its standby.
type pair struct{ primary, standby *postgrestest.Server }

// replicated gives the trial a server of its own with a synchronous standby.
func (f *trial) replicated(t *testing.T) pair {
	t.Helper()
	primary := f.alone(t, postgrestest.Options{})
	standby := postgrestest.NewStandby(t, primary)
	require.NoError(t, primary.Synchronize(t.Context()))
	return pair{primary, standby}
}

// leadsToStandby moves the endpoint, for the relay and for the trial.
func (p pair) leadsToStandby(t *testing.T, f *trial) {
	t.Helper()
	f.DB = f.DB.On(p.standby)
	f.database.move(t, hostOf(t, f.DB.URL()))
}
