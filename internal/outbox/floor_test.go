package outbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// dear makes scans from the front so expensive that the next one of its own
// accord comes ten seconds later: what is found before was looked for.
func dear(store *fakeStore) outbox.Config {
	store.wait = func() { time.Sleep(500 * time.Millisecond) }
	config := config()
	config.Workers = 1
	config.PollInterval = 100 * time.Millisecond
	config.FrontScanMax = 15 * time.Minute
	return config
}

// fromFront counts the scans from the front.
func fromFront(store *fakeStore) (n int) {
	for _, claim := range store.claims {
		if claim.After < 0 {
			n++
		}
	}
	return n
}

// last is when the last event was accepted, from the start of the test.
func last(publisher *fakePublisher, began time.Time) time.Duration {
	return publisher.lastEnd.Sub(began)
}

func TestRelayLooksForRowsOfABusThatWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(10, 1, "a")...), newPublisher()
		store.insert(events(100, 11, "b")...)
		began := time.Now()
		publisher.answer = func(request outbox.Request) error {
			if request.Bus == "a" && time.Since(began) < time.Second {
				return unavailable()
			}
			return nil
		}
		report, err := drain(t, store, publisher, dear(store), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 110, report.Published)
		require.Less(t, last(publisher, began), 6*time.Second)
	})
}

func TestRelayRepeatsAScanFromTheFrontThatWasLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(10, 10_001, "b")...), newPublisher()
		lost := false
		store.claim = func(claim outbox.Claim) error {
			if !lost {
				lost = true
				return errConnection
			}
			return nil
		}
		time.AfterFunc(5*time.Second, func() { store.insert(events(10, 1, "b")...) })
		report, err := drain(t, store, publisher, dear(store), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 20, report.Published)
	})
}

func TestRelayTakesUpRowsThatWereTooManyBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(largeEvents(100)...), newPublisher()
		config := dear(store)
		config.Workers = 2
		began := time.Now()
		report, err := drain(t, store, publisher, config, time.Minute)
		require.NoError(t, err)
		require.Equal(t, 100, report.Published)
		require.Less(t, last(publisher, began), 9*time.Second)
		require.LessOrEqual(t, fromFront(store), 6)
	})
}

func TestRelayGoesOnWhereAFullScanFromTheFrontEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(10, 10_001, "b")...), newPublisher()
		config := dear(store)
		config.BatchSize = 64
		began := time.Now()
		time.AfterFunc(5*time.Second, func() { store.insert(events(640, 1, "b")...) })
		report, err := drain(t, store, publisher, config, time.Minute)
		require.NoError(t, err)
		require.Equal(t, 650, report.Published)
		require.Less(t, last(publisher, began), 20*time.Second, "ten batches follow the one scan that found the first")
		require.Less(t, fromFront(store), 10)
	})
}

func TestRelayTakesUpWhatItHadNoLeaveToSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(200, 1, "b")...), newPublisher()
		config := dear(store)
		config.Workers = 2
		config.MaxRate = 5
		began := time.Now()
		report, err := drain(t, store, publisher, config, 2*time.Minute)
		require.NoError(t, err)
		require.Equal(t, 200, report.Published)
		require.Less(t, last(publisher, began), 50*time.Second, "at five a second, without waiting for a scan from the front")
		require.Less(t, fromFront(store), 15)
	})
}

func TestRelayKeepsABatchNoLongerThanThePublishWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.Concurrency = 1
		store, publisher := newStore(events(500, 1, "b")...), newPublisher()
		publisher.latency = func() time.Duration { return 4 * time.Second }
		_, err := drain(t, store, publisher, config, 2*time.Minute)
		require.NoError(t, err)
		require.LessOrEqual(t, store.longest, outbox.PublishWindow)
		require.Empty(t, publisher.acceptedAgain())
	})
}
