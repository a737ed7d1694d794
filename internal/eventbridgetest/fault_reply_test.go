package eventbridgetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

func TestSpoiltReplies(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]eventbridgetest.Fault{
		"HalfABody":       eventbridgetest.HalfBody(),
		"AnEmptyBody":     eventbridgetest.EmptyBody(),
		"AGarbageBody":    eventbridgetest.GarbageBody(),
		"NoResultEntries": eventbridgetest.EntryCount(0),
		"TooFewEntries":   eventbridgetest.EntryCount(1),
		"TooManyEntries":  eventbridgetest.EntryCount(3),
	} {
		t.Run(name+"CannotBePairedAlthoughAccepted", func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			srv.Script(fault)
			out, err := put(t, srv, entry(), entry())
			require.True(t, err != nil || len(out.Entries) != 2)
			require.Equal(t, 200, srv.Requests()[0].Status)
			require.Len(t, srv.Accepted(), 2)
		})

		t.Run(name+"AcceptsNothingIfAsked", func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			srv.Always(eventbridgetest.WithoutAccepting())
			srv.Script(fault)
			_, _ = put(t, srv, entry(), entry())
			require.Len(t, srv.Requests(), 1)
			require.Empty(t, srv.Accepted())
		})
	}
	for name, c := range map[string]struct {
		fault eventbridgetest.Fault
		body  string
	}{
		"HalfBodyIsCutJSON": {eventbridgetest.HalfBody(), `{"FailedEntryCount":0,"Entries":[{"EventId`},
		"EmptyBodyIsEmpty":  {eventbridgetest.EmptyBody(), ""},
		"GarbageIsHTML":     {eventbridgetest.GarbageBody(), "<html><body>It works!</body></html>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			srv.Script(c.fault)
			reply := post(t, srv, signed(), `{"Entries":[{"Source":"s","DetailType":"t","Detail":"{}"}]}`)
			require.Equal(t, 200, reply.status)
			require.Equal(t, c.body, reply.body)
		})
	}

	t.Run("EntryCountKeepsAndRepeats", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Script(eventbridgetest.EntryCount(1), eventbridgetest.EntryCount(3))
		out, err := put(t, srv, entry(), entry())
		require.NoError(t, err)
		require.Len(t, out.Entries, 1)
		out, err = put(t, srv, entry(), entry())
		require.NoError(t, err)
		require.Len(t, out.Entries, 3)
	})
}
