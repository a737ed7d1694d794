package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLedgerCountsAnEventOnceItsCommitIsAnswered(t *testing.T) {
	t.Parallel()
	ledger := &ledger{}
	opened := time.Unix(99, 0)
	entries := ledger.open([]event{{id: "a"}, {id: "b"}}, opened)
	require.Zero(t, ledger.committedSoFar())

	at := time.Unix(100, 0)
	ledger.settle(entries, committed, at)

	require.Equal(t, 2, ledger.committedSoFar())
	require.Equal(t, []entry{
		{event: event{id: "a"}, fate: committed, openedAt: opened, committedAt: at},
		{event: event{id: "b"}, fate: committed, openedAt: opened, committedAt: at},
	}, ledger.all())
	require.Empty(t, ledger.unresolved())
}

func TestLedgerSettlesAnUnansweredCommitByTheOrdersThatAreThere(t *testing.T) {
	t.Parallel()
	of := func(n int) event { return event{data: order{Number: n}} }
	ledger, opened := &ledger{}, time.Unix(99, 0)
	ledger.settle(ledger.open([]event{of(1)}, opened), unknown, time.Unix(100, 0))
	ledger.settle(ledger.open([]event{of(2)}, opened), unknown, time.Unix(100, 0))
	ledger.settle(ledger.open([]event{of(3)}, opened), rolledBack, time.Time{})
	require.Equal(t, []int{1, 2}, ledger.unresolved())

	ledger.resolve([]int{1})

	require.Equal(t, []entry{
		{event: of(1), fate: committed, openedAt: opened}, // committed at an unknown time
		{event: of(2), fate: rolledBack, openedAt: opened},
		{event: of(3), fate: rolledBack, openedAt: opened},
	}, ledger.all())
	require.Equal(t, 1, ledger.committedSoFar())
}
