package faults

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// lockFaults are others who lock the whole table.
var lockFaults = []fault{
	{
		name: "somebody locks the table for a moment",
		how:  "ACCESS EXCLUSIVE, until the claim is seen to wait for it",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			unlock := f.locks(t)
			relay := f.start(t, nil)
			run := relay.Begin(t)
			f.await(t, blocked)
			unlock()
			f.ends()
			relay.wait(t, run)
			relay.deliver(t)
			require.Len(t, f.responses, 1)
		},
	},
	{
		name:    "somebody locks the table for longer than any statement waits",
		how:     "ACCESS EXCLUSIVE for a whole run",
		reports: "lock timeout (SQLSTATE 55P03); somebody holds a lock on",
		play: func(t *testing.T, f *trial) {
			f.Insert(t, 20)
			unlock := f.locks(t)
			relay := f.start(t, nil)
			relay.run(t)
			unlock()
			f.ends()
			relay.deliver(t)
		},
	},
}

// locks locks the table, until the function that it returns is called.
func (f *trial) locks(t *testing.T) (unlock func()) {
	t.Helper()
	holder := f.DB.Conn(t)
	_, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	return func() {
		t.Helper()
		require.NoError(t, holder.Close(t.Context()))
	}
}
