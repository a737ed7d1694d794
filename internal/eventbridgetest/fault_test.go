package eventbridgetest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

func TestScript(t *testing.T) {
	t.Parallel()

	t.Run("GivesEveryRequestItsFaultInOrder", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Script(eventbridgetest.Throttle(), eventbridgetest.None(), eventbridgetest.Unavailable())
		srv.Script(eventbridgetest.Throttle())
		require.Equal(t, []int{400, 200, 503, 400, 200}, statuses(t, srv, 5))
	})

	t.Run("LeavesClearToTakeEverythingBack", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Script(eventbridgetest.Repeat(5, eventbridgetest.Throttle())...)
		srv.Always(eventbridgetest.Unavailable())
		srv.When(func(eventbridgetest.Request) eventbridgetest.Fault { return eventbridgetest.Drop() })
		srv.Clear()
		require.Equal(t, []int{200, 200}, statuses(t, srv, 2))
	})

	t.Run("WinsOverAlwaysAndWhen", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Always(eventbridgetest.Refuse(500, "A", ""))
		srv.When(func(eventbridgetest.Request) eventbridgetest.Fault { return eventbridgetest.Refuse(501, "B", "") })
		srv.Script(eventbridgetest.Refuse(502, "C", ""))
		require.Equal(t, []int{502, 501}, statuses(t, srv, 2))
	})

	t.Run("LeavesWhenToChooseByTheRequest", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.When(func(r eventbridgetest.Request) eventbridgetest.Fault {
			if r.Number == 2 || r.Count > 1 || r.Entries[0].ID == "bad" || len(srv.Accepted()) == 2 {
				return eventbridgetest.Throttle()
			}
			return nil
		})
		require.Equal(t, []int{200, 400}, statuses(t, srv, 2))
		_, err := put(t, srv, entry(), entry())
		requireRefused(t, err, http.StatusBadRequest, "ThrottlingException", "")
		_, err = put(t, srv, event("bad"))
		requireRefused(t, err, http.StatusBadRequest, "ThrottlingException", "")

		mustPut(t, srv, event("good"))
		_, err = put(t, srv, event("third"))
		requireRefused(t, err, http.StatusBadRequest, "ThrottlingException", "")
	})

	t.Run("RepeatsSometimesForTheSameSeed", func(t *testing.T) {
		t.Parallel()
		run := func(seed uint64) []int {
			srv := eventbridgetest.New(t)
			srv.Always(eventbridgetest.Sometimes(seed, 0.5, eventbridgetest.Throttle()))
			return statuses(t, srv, 40)
		}

		first, again, other := run(1), run(1), run(2)
		require.Equal(t, first, again)
		require.NotEqual(t, first, other)
		require.Contains(t, first, 200)
		require.Contains(t, first, 400)
	})
}

func TestRateLimit(t *testing.T) {
	t.Parallel()

	t.Run("ThrottlesTheRestByTurns", func(t *testing.T) {
		t.Parallel()
		now := time.Unix(1000, 0)
		srv := eventbridgetest.New(t)
		srv.Always(eventbridgetest.RateLimit(2, func() time.Time { return now }))

		require.Equal(t, []int{200, 200, 400, 200, 400, 200}, statuses(t, srv, 6))
		require.Len(t, srv.Accepted(), 2)
		require.Equal(t, 2, srv.Stats().Failed)
		now = now.Add(999 * time.Millisecond)
		require.Equal(t, []int{400, 200}, statuses(t, srv, 2))
		require.Len(t, srv.Accepted(), 2)
		now = now.Add(time.Millisecond)
		require.Equal(t, []int{200, 200, 400}, statuses(t, srv, 3))
		require.Len(t, srv.Accepted(), 4)
		now = now.Add(10500 * time.Millisecond)
		require.Equal(t, []int{200, 200, 200}, statuses(t, srv, 3))
		require.Len(t, srv.Accepted(), 6)
	})

	t.Run("TakesTheSystemsClockForNil", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Always(eventbridgetest.RateLimit(0, nil))
		require.Equal(t, []int{400, 200}, statuses(t, srv, 2))
		require.Empty(t, srv.Accepted())
	})
}

// statuses sends n requests of one entry and returns how they were answered.
func statuses(t *testing.T, srv *eventbridgetest.Server, n int) []int {
	t.Helper()

	before := len(srv.Requests())
	for range n {
		_, _ = put(t, srv, entry())
	}

	all := make([]int, 0, n)
	for _, request := range srv.Requests()[before:] {
		all = append(all, request.Status)
	}
	return all
}
