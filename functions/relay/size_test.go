package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/relaytest"
)

// Ten events of 200 KB are twice what a request may hold.
func TestPacksByBytesToo(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.InsertLarge(t, 10, 200_000)

	require.Equal(t, 10, s.Start(t, nil).Succeed(t).Published)
	require.Zero(t, s.Bus.Oversized())
	s.RequireDelivered(t)
	s.RequireOnce(t)
}

// From 1 KB to 400 KB, in no order.
func TestPacksEventsOfAllSizes(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.DB.Exec(t, `
		INSERT INTO outbox (event_type, payload)
		SELECT 'Mixed', jsonb_build_object('filler', repeat('x', 1000 + n * 7919 % 400 * 1000))
		FROM generate_series(1, 100) AS n`)

	require.Equal(t, 100, s.Start(t, nil).Succeed(t).Published)
	require.Zero(t, s.Bus.Oversized())
	s.RequireDelivered(t)
	s.RequireOnce(t)
}

// One event of 3 MB among 50 small ones: the bus would refuse it with a bare 413.
func TestFailsAnEventThatNoRequestCanCarry(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 25)
	s.InsertLarge(t, 1, 3_000_000)
	s.Insert(t, 25)
	relay := s.Start(t, nil)

	answer := relay.Succeed(t)
	require.Equal(t, 50, answer.Published)
	require.Equal(t, 1, answer.Failed)
	require.Zero(t, s.Bus.Oversized())
	s.RequireDelivered(t)
	reason := s.Reasons(t)["Large"]
	require.Contains(t, reason, "EventTooLarge")
	require.Contains(t, reason, "3000000 bytes")
	require.Contains(t, reason, "1000000")

	requests := s.Bus.Stats().Requests
	require.Zero(t, relay.Succeed(t).Failed)
	require.Equal(t, requests, s.Bus.Stats().Requests)
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

			s := relaytest.New(t, test.options...)
			s.Insert(t, 25)
			s.InsertLarge(t, 1, 300_000)
			s.Insert(t, 25)
			relay := s.Start(t, relaytest.Settings{"PUT_EVENTS_MAX_BYTES": "1000000"})

			answer := relay.Succeed(t)
			require.Equal(t, 50, answer.Published)
			require.Equal(t, 1, answer.Failed)
			s.RequireDelivered(t)
			s.RequireOnce(t)
			require.Contains(t, s.Reasons(t)["Large"], test.code)

			requests := s.Bus.Stats().Requests
			require.Zero(t, relay.Succeed(t).Failed)
			require.Equal(t, requests, s.Bus.Stats().Requests)
		})
	}
}

func TestSendsALargeEventWhereTheBusTakesIt(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.InsertLarge(t, 1, 300_000)

	require.Equal(t, 1, s.Start(t, nil).Succeed(t).Published)
	s.RequireDelivered(t)
}

func TestPutsOneToTenEntriesIntoARequestWhateverTheBatchSizeIs(t *testing.T) {
	t.Parallel()

	for _, size := range []int{1, 9, 10, 11, 100, 1000} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()

			s := relaytest.New(t)
			relay := s.Start(t, relaytest.Settings{"RELAY_BATCH_SIZE": strconv.Itoa(size)})
			for _, rows := range []int{0, 1, 10, 11, 101} {
				s.Insert(t, rows)
				require.Equal(t, rows, relay.Succeed(t).Published)
			}
			s.RequireDelivered(t)
			s.RequireOnce(t)
			for _, request := range s.Bus.Requests() {
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

	s := relaytest.New(t, eventbridgetest.WithRecording(eventbridgetest.RecordIDs), eventbridgetest.WithLatency(50*time.Millisecond))
	s.InsertLarge(t, 150, 900_000)
	relay := s.Start(t, nil)

	relay.Drain(t, s)
	s.RequireDelivered(t)
	s.RequireOnce(t)
	peak, err := relay.PeakRSS()
	require.NoError(t, err)
	t.Logf("peak: %d MB", peak>>20)
	require.Less(t, peak, int64(112<<20), "of 128 MB, some are not the function's")
}
