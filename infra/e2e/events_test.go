package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// arrivalOf is an event as it should arrive.
func arrivalOf(e event) (a arrived) {
	a.Source, a.DetailType = eventSource, e.name
	a.Detail.Metadata.ID, a.Detail.Metadata.Type = e.id, e.name
	a.Detail.Metadata.AggregateType, a.Detail.Metadata.AggregateID = "order", e.order
	a.Detail.Data = json.RawMessage(e.payload)
	return a
}

func newLedger(count int) *ledger {
	return &ledger{committed: newEvents(1, count), seen: map[string]bool{}}
}

func TestALedgerIsCompleteOnceEveryEventHasArrived(t *testing.T) {
	t.Parallel()

	l := newLedger(3)
	for _, e := range l.committed {
		require.False(t, l.complete())
		require.NoError(t, l.enter(arrivalOf(e)))
	}
	require.True(t, l.complete())
	require.Empty(t, l.missing())
}

func TestALedgerNamesWhatIsMissing(t *testing.T) {
	t.Parallel()

	l := newLedger(2)
	require.NoError(t, l.enter(arrivalOf(l.committed["00000000-0000-4000-8000-000000000001"])))
	require.Equal(t, []string{"00000000-0000-4000-8000-000000000002"}, l.missing())
}

func TestALedgerRefusesWhatWasNotCommittedAndSecondCopies(t *testing.T) {
	t.Parallel()

	l := newLedger(1)
	for _, e := range newEvents(2, 1) {
		require.ErrorContains(t, l.enter(arrivalOf(e)), "never committed")
	}
	for _, e := range l.committed {
		require.NoError(t, l.enter(arrivalOf(e)))
		require.ErrorContains(t, l.enter(arrivalOf(e)), "arrived twice")
	}
}

func TestALedgerNamesWhatArrivedOtherwise(t *testing.T) {
	t.Parallel()

	for what, change := range map[string]func(*arrived){
		"source":         func(a *arrived) { a.Source = "outbox" },
		"detail-type":    func(a *arrived) { a.DetailType = "" },
		"type":           func(a *arrived) { a.Detail.Metadata.Type = "Other" },
		"aggregate_type": func(a *arrived) { a.Detail.Metadata.AggregateType = "cart" },
		"aggregate_id":   func(a *arrived) { a.Detail.Metadata.AggregateID = "0" },
		"data":           func(a *arrived) { a.Detail.Data = json.RawMessage(`{"order": 1}`) },
	} {
		l := newLedger(1)
		for _, e := range l.committed {
			a := arrivalOf(e)
			change(&a)
			require.ErrorContains(t, l.enter(a), "arrived with "+what+" ")
		}
	}
}

func TestDataMayComeInAnotherOrderOfItsKeys(t *testing.T) {
	t.Parallel()

	require.Equal(t, canonical([]byte(`{"a": 1, "b": [1.50, "ü"]}`)), canonical([]byte(`{"b":[1.50,"\u00fc"],"a":1}`)))
	require.NotEqual(t, canonical([]byte(`{"a": 12345678901234567}`)), canonical([]byte(`{"a": 12345678901234568}`)))
}
