package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

// Ten events of 200 KB are twice what a request may hold.
func TestPacksByBytesToo(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insertLarge(t, 10, 200_000)

	require.Equal(t, 10, s.start(t, nil).succeed(t).Published)
	require.Zero(t, s.bus.Oversized())
	s.requireDelivered(t)
	s.requireOnce(t)
}

// From 1 KB to 400 KB, in no order.
func TestPacksEventsOfAllSizes(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.db.Exec(t, `
		INSERT INTO outbox (event_type, payload)
		SELECT 'Mixed', jsonb_build_object('filler', repeat('x', 1000 + n * 7919 % 400 * 1000))
		FROM generate_series(1, 100) AS n`)

	require.Equal(t, 100, s.start(t, nil).succeed(t).Published)
	require.Zero(t, s.bus.Oversized())
	s.requireDelivered(t)
	s.requireOnce(t)
}

// One event of 3 MB among 50 small ones: the bus would refuse it with a bare 413.
func TestFailsAnEventThatNoRequestCanCarry(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 25)
	s.insertLarge(t, 1, 3_000_000)
	s.insert(t, 25)
	relay := s.start(t, nil)

	answer := relay.succeed(t)
	require.Equal(t, 50, answer.Published)
	require.Equal(t, 1, answer.Failed)
	require.Zero(t, s.bus.Oversized())
	s.requireDelivered(t)
	reason := s.reasons(t)["Large"]
	require.Contains(t, reason, "EventTooLarge")
	require.Contains(t, reason, "3000000 bytes")
	require.Contains(t, reason, "1000000")

	requests := s.bus.Stats().Requests
	require.Zero(t, relay.succeed(t).Failed)
	require.Equal(t, requests, s.bus.Stats().Requests)
}

// The bus takes less than we think it does.
func TestSplitsARequestUntilTheEventThatIsTooLargeStandsAlone(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		options []eventbridgetest.Option
		code    string
	}{
		"WithABareStatus": {
			[]eventbridgetest.Option{eventbridgetest.WithMaxBodyBytes(256 << 10)},
			"RequestEntityTooLargeException: ",
		},
		"WithAnErrorCode": {
			[]eventbridgetest.Option{eventbridgetest.WithMaxBytes(256 << 10)},
			"ValidationException: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newScene(t, test.options...)
			s.insert(t, 25)
			s.insertLarge(t, 1, 300_000)
			s.insert(t, 25)
			relay := s.start(t, settings{"PUT_EVENTS_MAX_BYTES": "1000000"})

			answer := relay.succeed(t)
			require.Equal(t, 50, answer.Published)
			require.Equal(t, 1, answer.Failed)
			s.requireDelivered(t)
			s.requireOnce(t)
			require.Contains(t, s.reasons(t)["Large"], test.code)

			requests := s.bus.Stats().Requests
			require.Zero(t, relay.succeed(t).Failed)
			require.Equal(t, requests, s.bus.Stats().Requests)
		})
	}
}

func TestSendsALargeEventWhereTheBusTakesIt(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insertLarge(t, 1, 300_000)

	require.Equal(t, 1, s.start(t, nil).succeed(t).Published)
	s.requireDelivered(t)
}

func TestPutsOneToTenEntriesIntoARequestWhateverTheBatchSizeIs(t *testing.T) {
	t.Parallel()

	for _, size := range []int{1, 9, 10, 11, 100, 1000} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()

			s := newScene(t)
			relay := s.start(t, settings{"RELAY_BATCH_SIZE": strconv.Itoa(size)})
			for _, rows := range []int{0, 1, 10, 11, 101} {
				s.insert(t, rows)
				require.Equal(t, rows, relay.succeed(t).Published)
			}
			s.requireDelivered(t)
			s.requireOnce(t)
			for _, request := range s.bus.Requests() {
				require.NotZero(t, request.Count)
				require.LessOrEqual(t, request.Count, 10)
			}
		})
	}
}

// 150 events of 900 KB are more than the memory of a function. (Scaled down from
// 1,000. A bus that takes its time lets many be under way at once.)
func TestStaysWithinItsMemoryWhateverTheBacklog(t *testing.T) {
	t.Parallel()

	s := newScene(t, eventbridgetest.WithRecording(eventbridgetest.RecordIDs), eventbridgetest.WithLatency(50*time.Millisecond))
	s.insertLarge(t, 150, 900_000)
	relay := s.start(t, nil)

	relay.drain(t, s)
	s.requireDelivered(t)
	s.requireOnce(t)
	peak, err := relay.PeakRSS()
	require.NoError(t, err)
	t.Logf("peak: %d MB", peak>>20)
	require.Less(t, peak, int64(112<<20), "of 128 MB, some are not the function's")
}
