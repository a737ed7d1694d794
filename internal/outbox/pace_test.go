package outbox_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// quota is what a bus takes: so many requests a second, by the time since it
// was first asked.
type quota struct {
	allowed func(since time.Duration) int

	mu     sync.Mutex
	began  time.Time
	second time.Duration
	taken  int
	passed map[time.Duration]int // by second
}

func (q *quota) take(outbox.Request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.began.IsZero() {
		q.began, q.passed = time.Now(), map[time.Duration]int{}
	}
	if second := time.Since(q.began).Truncate(time.Second); second != q.second {
		q.second, q.taken = second, 0
	}
	if q.taken >= q.allowed(q.second) {
		return &outbox.RequestError{Fault: outbox.Throttled, Code: "ThrottlingException", Message: "slow down"}
	}
	q.taken++
	q.passed[q.second]++
	return nil
}

// rate is how many requests went through in a second, over some seconds.
func (q *quota) rate(from, to time.Duration) float64 {
	n := 0
	for second := from; second < to; second += time.Second {
		n += q.passed[second]
	}
	return float64(n) / (to - from).Seconds()
}

func TestRelayIsBackAtFullRateSoonAfterMinutesOfThrottling(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]int{"ALittleGoesThrough": 2, "NothingGoesThrough": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const full = 20
			synctest.Test(t, func(t *testing.T) {
				store, publisher := newStore(events(40_000, 1, "b")...), newPublisher()
				quota := &quota{allowed: func(since time.Duration) int {
					if time.Minute <= since && since < 4*time.Minute {
						return meanwhile
					}
					return full
				}}
				publisher.answer, publisher.latency = quota.take, func() time.Duration { return 20 * time.Millisecond }
				_, err := drain(t, store, publisher, config(), 6*time.Minute)
				require.NoError(t, err)
				require.Greater(t, quota.rate(20*time.Second, time.Minute), 0.85*full, "before")
				asked := len(publisher.requests)
				require.GreaterOrEqual(t, quota.rate(time.Minute, 4*time.Minute), 0.8*float64(meanwhile), "meanwhile")
				require.Greater(t, quota.rate(4*time.Minute+30*time.Second, 5*time.Minute), 0.85*full, "after half a minute")
				require.Less(t, asked, 3*len(publisher.accepted)/20, "a bus that throttles is asked for less")
				require.Empty(t, publisher.acceptedAgain())
				require.Empty(t, store.failed())
			})
		})
	}
}

// drained is how long it takes to publish nine tenths of the events on a bus of
// which requests fail.
func drained(t *testing.T, fails func(n int, request outbox.Request) bool) (took time.Duration, store *fakeStore, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		publisher := newPublisher()
		store = newStore(events(10_000, 1, "b")...)
		publisher.latency = func() time.Duration { return 50 * time.Millisecond }
		n, began := 0, time.Now()
		publisher.answer = func(request outbox.Request) error {
			n++
			if took == 0 && len(publisher.accepted) >= 9_000 {
				took = time.Since(began)
			}
			if fails(n, request) {
				return unavailable()
			}
			return nil
		}
		_, err = drain(t, store, publisher, config(), 5*time.Minute)
		require.Empty(t, publisher.acceptedAgain())
	})
	return took, store, err
}

func TestAShardThatFailsTakesNoThroughputFromTheOthers(t *testing.T) {
	t.Parallel()
	whole, _, err := drained(t, func(int, outbox.Request) bool { return false })
	require.NoError(t, err)

	took, store, err := drained(t, func(n int, _ outbox.Request) bool { return n%10 == 3 })
	if err != nil { // by chance
		require.ErrorContains(t, err, "its request failed 5 times while others went through")
	}
	require.LessOrEqual(t, len(store.pending()), 5)
	require.Less(t, took, 3*whole, "every tenth request fails: its entries come back one to a request")

	bad := func(event *outbox.Event) bool { return event.Seq%100 == 7 }
	took, store, err = drained(t, func(_ int, request outbox.Request) bool {
		for _, entry := range request.Entries {
			if bad(entry.Event) {
				return true
			}
		}
		return false
	})
	require.ErrorContains(t, err, "its request failed 5 times while others went through")
	require.Less(t, len(store.pending()), 150, "the bad ones, and by chance some that were tried beside them at the end")
	require.Less(t, took, 3*whole, "the same events always fail")
}
