package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLedgerCountsAnEventOnceItsCommitIsAnswered(t *testing.T) {
	t.Parallel()
	ledger := &ledger{}
	entries := ledger.open([]event{{id: "a"}, {id: "b"}})
	require.Zero(t, ledger.committedSoFar())

	at := time.Unix(100, 0)
	ledger.settle(entries, committed, at)

	require.Equal(t, 2, ledger.committedSoFar())
	require.Equal(t, []entry{
		{event: event{id: "a"}, fate: committed, committedAt: at},
		{event: event{id: "b"}, fate: committed, committedAt: at},
	}, ledger.all())
	require.Empty(t, ledger.unresolved())
}

func TestLedgerSettlesAnUnansweredCommitByTheRowsThatAreThere(t *testing.T) {
	t.Parallel()
	ledger := &ledger{}
	ledger.settle(ledger.open([]event{{id: "there"}}), unknown, time.Unix(100, 0))
	ledger.settle(ledger.open([]event{{id: "gone"}}), unknown, time.Unix(100, 0))
	ledger.settle(ledger.open([]event{{id: "back"}}), rolledBack, time.Time{})
	require.Equal(t, []string{"there", "gone"}, ledger.unresolved())

	ledger.resolve([]string{"there"})

	require.Equal(t, []entry{
		{event: event{id: "there"}, fate: committed}, // at an unknown time
		{event: event{id: "gone"}, fate: rolledBack},
		{event: event{id: "back"}, fate: rolledBack},
	}, ledger.all())
	require.Equal(t, 1, ledger.committedSoFar())
}
