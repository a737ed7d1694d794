package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

func (s *scene) insertFor(t *testing.T, bus string, n int) {
	t.Helper()
	s.db.Exec(t, `INSERT INTO outbox (event_type, topic, payload) SELECT 'Routed', $1, '{}' FROM generate_series(1, $2)`, bus, n)
}

// EventBridge answers success for a bus that does not exist, and drops the
// event.
func TestKeepsTheEventsOfABusThatDoesNotExist(t *testing.T) {
	t.Parallel()

	s := newScene(t, eventbridgetest.WithBuses("orders"))
	s.insertFor(t, "oders", 10)
	s.insertFor(t, "orders", 20)
	s.insertFor(t, "oders", 10)
	s.insert(t, 20)
	relay := s.start(t, nil)

	message := relay.fail(t)
	require.Contains(t, message, `"oders"`)
	require.Contains(t, message, "40 published")
	require.NotContains(t, message, `"orders"`)
	require.Equal(t, 20, s.untouched(t))
	require.Equal(t, 20, s.count(t, "topic = 'oders' AND published_at IS NULL"))
	require.Empty(t, s.bus.Dropped())

	s.bus.AddBus("oders")
	require.Equal(t, 20, relay.succeed(t).Published)
	s.requireDelivered(t)
	s.requireOnce(t)
}

func TestChecksABusAsOftenAsItIsToldTo(t *testing.T) {
	t.Parallel()

	for check, works := range map[string]bool{"require": false, "warn": true, "off": true} {
		t.Run(check+"WithoutPermission", func(t *testing.T) {
			t.Parallel()

			s := newScene(t)
			s.insert(t, 10)
			s.bus.AlwaysDescribe(eventbridgetest.AccessDenied())
			relay := s.start(t, settings{"EVENT_BUS_CHECK": check})

			if works {
				require.Equal(t, 10, relay.succeed(t).Published)
				s.requireDelivered(t)
			} else {
				message := relay.fail(t)
				require.Contains(t, message, "AccessDeniedException")
				require.Contains(t, message, "events:DescribeEventBus")
				require.Equal(t, 10, s.untouched(t))
				require.Zero(t, s.bus.Stats().Requests)
			}
			warned := strings.Contains(strings.Join(relay.Logs(), "\n"), "event bus not checked")
			require.Equal(t, check == "warn", warned)
			require.Equal(t, check == "off", len(s.bus.Describes()) == 0)
		})
	}

	t.Run("AtMostOnceAMinute", func(t *testing.T) {
		t.Parallel()

		s := newScene(t)
		relay := s.start(t, settings{"EVENT_BUS_CHECK": "require"})
		for range 5 {
			s.insert(t, 100)
			require.Equal(t, 100, relay.succeed(t).Published)
		}
		require.Equal(t, []string{"default"}, s.bus.Describes())
	})
}

// The bus of another account is named by its ARN; its policy refuses us.
func TestLeavesOutABusThatRefusesUsAndServesTheOthers(t *testing.T) {
	t.Parallel()

	const foreign = "arn:aws:events:eu-west-1:210987654321:event-bus/partner"
	s := newScene(t, eventbridgetest.WithBuses(foreign))
	for range 3 {
		s.insertFor(t, foreign, 20)
		s.insert(t, 20)
	}
	s.bus.Always(eventbridgetest.FailEntries("AccessDeniedException", "not allowed", eventbridgetest.Bus(foreign)))
	relay := s.start(t, settings{"RELAY_BATCH_SIZE": "20"})

	message := relay.fail(t)
	require.Contains(t, message, foreign)
	require.Contains(t, message, "60 published")
	require.Equal(t, 60, s.untouched(t))

	s.bus.Clear()
	require.Equal(t, 60, relay.succeed(t).Published)
	s.requireDelivered(t)
	s.requireOnce(t)
}

// One bus is down: the others get their events in the same run.
func TestServesTheOtherBusesWhileOneIsDown(t *testing.T) {
	t.Parallel()

	s := newScene(t, eventbridgetest.WithBuses("orders"))
	s.insertFor(t, "orders", 100)
	s.insert(t, 100)
	s.bus.When(func(request eventbridgetest.Request) eventbridgetest.Fault {
		if request.Entries[0].Bus == "orders" {
			return eventbridgetest.Unavailable()
		}
		return nil
	})
	relay := s.start(t, settings{"RELAY_BATCH_SIZE": "50"})

	message := relay.fail(t)
	require.Contains(t, message, "bus orders")
	require.Contains(t, message, "100 published")
	require.Equal(t, 100, s.untouched(t))
}

func TestLeavesPausedBusesAlone(t *testing.T) {
	t.Parallel()

	s := newScene(t, eventbridgetest.WithBuses("orders"))
	s.insertFor(t, "orders", 10)
	s.insert(t, 10)
	relay := s.start(t, nil)

	s.db.Exec(t, "INSERT INTO outbox_paused (topic) VALUES ('*')")
	require.Zero(t, relay.succeed(t).Published)
	s.db.Exec(t, "UPDATE outbox_paused SET topic = 'orders'")
	require.Equal(t, 10, relay.succeed(t).Published)
	require.Equal(t, 10, s.untouched(t))
	s.db.Exec(t, "DELETE FROM outbox_paused")
	require.Equal(t, 10, relay.succeed(t).Published)
	s.requireDelivered(t)
}
