package eventbridgetest_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/eventbridgetest/awsjson"
)

func attempts(n int) func(*eventbridge.Options) {
	return func(o *eventbridge.Options) { o.RetryMaxAttempts = n }
}

// putAtOnce sends n requests of one entry each from as many goroutines.
func putAtOnce(t *testing.T, srv *eventbridgetest.Server, n int) {
	t.Helper()

	client := newClient(srv)

	var group errgroup.Group
	for range n {
		group.Go(func() error {
			_, err := putTo(t.Context(), client, entry())
			return err
		})
	}

	require.NoError(t, group.Wait())
}

func TestRecords(t *testing.T) {
	t.Parallel()

	t.Run("KeepAnEntryAsItCame", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t, eventbridgetest.WithBuses("orders"))
		at := time.Date(2026, 11, 30, 12, 0, 0, 123_000_000, time.UTC)
		text := `{"metadata":{"id":"a"}, "n":9007199254740993, "s":"<é> \u00e9\ud83d\ude00\n\/"}`
		mustPut(t, srv, source("aws."), entry(func(e *types.PutEventsRequestEntry) {
			e.EventBusName, e.Detail, e.Time = aws.String("orders"), aws.String(text), &at
			e.Resources, e.TraceHeader = []string{"r1", "r2"}, aws.String("Root=1-2-3")
		}))

		require.Len(t, srv.Accepted(), 1)
		a := srv.Accepted()[0]
		require.Equal(t, []string{"a", "orders", "shop", "OrderPlaced", text, "Root=1-2-3"},
			[]string{a.ID, a.Bus, a.Source, a.DetailType, a.Detail, a.TraceHeader})
		require.Equal(t, []string{"r1", "r2"}, a.Resources)
		require.Equal(t, at, a.Time)
		require.Equal(t, []int{1, 1, 1}, []int{a.Sequence, a.Request, a.Index})
		require.WithinDuration(t, time.Now(), a.At, time.Minute)
	})

	t.Run("KeepARequestAsItCame", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		mustPut(t, srv, entry(), onBus("missing"), source("aws.x"))
		r := srv.Requests()[0]
		require.Equal(t, []int{1, 1, 3, 200, 1, 1, 1},
			[]int{r.Number, r.InFlight, r.Count, r.Status, r.Accepted, r.Dropped, r.Failed})
		require.Equal(t, eventbridgetest.Answered, r.Outcome)
		require.Equal(t, awsjson.SigV4, r.Algorithm)
		require.Equal(t, srv.URL(), "http://"+r.Host)
		require.WithinDuration(t, time.Now(), r.SignedAt, time.Minute)
		require.False(t, r.Ended.Before(r.Arrived))
		require.Len(t, r.Entries, 3)
	})

	t.Run("NumberAcceptancesWithoutGaps", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		putAtOnce(t, srv, 50)
		ids := map[string]bool{}
		for i, a := range srv.Accepted() {
			require.Equal(t, i+1, a.Sequence)
			ids[a.EventID] = true
		}

		require.Len(t, ids, 50)
	})

	t.Run("TellDuplicatesApart", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		mustPut(t, srv, event("a"), event("b"))
		mustPut(t, srv, event("a"))
		require.Len(t, srv.AcceptedByID()["a"], 2)
		require.Equal(t, map[string]int{"a": 2, "b": 1}, srv.AcceptedIDs())
	})

	t.Run("NeverShowASequentialClientTwiceInFlight", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		client := newClient(srv)
		for range 200 {
			_, err := putTo(t.Context(), client, entry())
			require.NoError(t, err)
		}

		require.Equal(t, 1, srv.MaxInFlight())
	})

	t.Run("CountTheMostInFlight", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Always(eventbridgetest.Hang())
		ctx, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() { _, _ = putTo(ctx, newClient(srv), entry()) })
		}

		require.NoError(t, srv.WaitRequests(t.Context(), 5))
		leave()
		group.Wait()
		require.NoError(t, srv.WaitIdle(t.Context()))
		require.Equal(t, 5, srv.MaxInFlight())
		require.Equal(t, 5, slices.MaxFunc(srv.Requests(), func(a, b eventbridgetest.Request) int {
			return a.InFlight - b.InFlight
		}).InFlight)
	})
}

func TestRecording(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recording              eventbridgetest.Recording
		entries, requests, ids int
	}{
		"All":    {eventbridgetest.RecordAll, 3, 2, 2},
		"IDs":    {eventbridgetest.RecordIDs, 0, 0, 2},
		"Counts": {eventbridgetest.RecordCounts, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t, eventbridgetest.WithRecording(c.recording))
			var told []string
			srv.OnAccepted(func(a eventbridgetest.Accepted) { told = append(told, a.ID) })
			mustPut(t, srv, event("a"), event("b"), onBus("missing"), source("aws.x"))
			mustPut(t, srv, event("a"))

			require.Len(t, srv.Accepted(), c.entries)
			require.Len(t, srv.Requests(), c.requests)
			require.Len(t, srv.AcceptedIDs(), c.ids)
			require.Equal(t, []string{"a", "b", "a"}, told)
			require.Equal(t, eventbridgetest.Stats{
				Requests: 2, Accepted: 3, Dropped: 1, Failed: 1, MaxInFlight: 1, MaxEntries: 4,
			}, srv.Stats())
		})
	}
}

func TestWait(t *testing.T) {
	t.Parallel()

	t.Run("EndsWithTheEntryWaitedFor", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() { _, _ = putTo(t.Context(), newClient(srv), entry()) })
		}

		require.NoError(t, srv.WaitAccepted(t.Context(), 3))
		require.Len(t, srv.Accepted(), 3)
		group.Wait()
	})

	t.Run("EndsWithTheContext", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := eventbridgetest.New(t).WaitAccepted(ctx, 1)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "wait for 1 accepted entries")
	})
}
