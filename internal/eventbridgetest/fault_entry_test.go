package eventbridgetest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

func TestEntryFaults(t *testing.T) {
	t.Parallel()

	const code = "InternalFailure"
	for name, c := range map[string]struct {
		match eventbridgetest.Match
		codes []string
	}{
		"ByIndex":      {eventbridgetest.Index(0, 3), []string{code, "", "", code}},
		"ByID":         {eventbridgetest.ID("b"), []string{"", code, "", ""}},
		"BySource":     {eventbridgetest.Source("bank"), []string{"", "", code, ""}},
		"ByDetailType": {eventbridgetest.DetailType("OrderPlaced"), []string{code, code, code, ""}},
		"ByBus":        {eventbridgetest.Bus("default"), []string{code, code, code, code}},
		"ByPredicate": {
			func(i int, e eventbridgetest.Entry) bool { return i > 0 && e.ID != "" },
			[]string{"", code, "", ""},
		},
	} {
		t.Run("Select"+name, func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			srv.Always(eventbridgetest.FailEntries(code, "try again", c.match))
			require.Equal(t, c.codes, mustPut(t, srv, event("a"), event("b"), source("bank"), detailType("Paid")))
		})
	}

	t.Run("CarryTheirMessageAndAcceptTheOthers", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Script(eventbridgetest.FailEntries(code, "try again", eventbridgetest.Index(1, 4, 9)))
		out, err := put(t, srv, events(10)...)
		require.NoError(t, err)
		require.Equal(t, int32(3), out.FailedEntryCount)
		require.Equal(t, "try again", aws.ToString(out.Entries[4].ErrorMessage))
		require.Nil(t, out.Entries[4].EventId)
		require.Len(t, srv.AcceptedByID(), 7)
		require.NotContains(t, srv.AcceptedByID(), "e4")
		require.Equal(t, 3, srv.Stats().Failed)
	})

	t.Run("NeedAllMatches", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Always(eventbridgetest.FailEntries(code, "", eventbridgetest.Index(0, 1), eventbridgetest.ID("b", "c")))
		require.Equal(t, []string{"", code, ""}, mustPut(t, srv, event("a"), event("b"), event("c")))
	})

	t.Run("FailTheFirstNEntries", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Always(eventbridgetest.FailEntries(code, "").Times(3))
		require.Equal(t, []string{code, code}, mustPut(t, srv, event("a"), event("b")))
		require.Equal(t, []string{code, ""}, mustPut(t, srv, event("a"), event("b")))
		require.Equal(t, []string{"", ""}, mustPut(t, srv, event("a"), event("b")))
	})

	t.Run("FailEachEventNTimes", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Always(eventbridgetest.FailEntries(code, "").TimesEach(1))
		require.Equal(t, []string{code, code}, mustPut(t, srv, event("a"), event("b")))
		require.Equal(t, []string{"", code}, mustPut(t, srv, event("a"), event("c")))
		require.Equal(t, []string{"", ""}, mustPut(t, srv, event("b"), event("c")))
	})

	t.Run("AddUpAcrossFaults", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Always(eventbridgetest.FailEntries(code, "", eventbridgetest.ID("a")))
		srv.Script(eventbridgetest.FailEntries("ThrottlingException", "", eventbridgetest.ID("b")))
		require.Equal(t, []string{code, "ThrottlingException", ""}, mustPut(t, srv, event("a"), event("b"), event("c")))
	})
}
