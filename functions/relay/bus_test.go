package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/relaytest"
)

// EventBridge answers success for a bus that does not exist, and drops the
// event.
func TestKeepsTheEventsOfABusThatDoesNotExist(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t, eventbridgetest.WithBuses("orders"))
	s.InsertFor(t, "oders", 10)
	s.InsertFor(t, "orders", 20)
	s.InsertFor(t, "oders", 10)
	s.Insert(t, 20)
	relay := s.Start(t, nil)

	message := relay.Fail(t)
	require.Contains(t, message, `"oders"`)
	require.Contains(t, message, "40 published")
	require.NotContains(t, message, `"orders"`)
	require.Equal(t, 20, s.Untouched(t))
	require.Equal(t, 20, s.Count(t, "topic = 'oders' AND published_at IS NULL"))
	require.Empty(t, s.Bus.Dropped())

	s.Bus.AddBus("oders")
	require.Equal(t, 20, relay.Succeed(t).Published)
	s.RequireDelivered(t)
	s.RequireOnce(t)
}

func TestChecksABusAsOftenAsItIsToldTo(t *testing.T) {
	t.Parallel()

	for check, works := range map[string]bool{"require": false, "warn": true, "off": true} {
		t.Run(check+"WithoutPermission", func(t *testing.T) {
			t.Parallel()

			s := relaytest.New(t)
			s.Insert(t, 10)
			s.Bus.AlwaysDescribe(eventbridgetest.AccessDenied())
			relay := s.Start(t, relaytest.Settings{"EVENT_BUS_CHECK": check})

			if works {
				require.Equal(t, 10, relay.Succeed(t).Published)
				s.RequireDelivered(t)
			} else {
				message := relay.Fail(t)
				require.Contains(t, message, "AccessDeniedException")
				require.Contains(t, message, "events:DescribeEventBus")
				require.Equal(t, 10, s.Untouched(t))
				require.Zero(t, s.Bus.Stats().Requests)
			}
			warned := strings.Contains(strings.Join(relay.Logs(), "\n"), "event bus not checked")
			require.Equal(t, check == "warn", warned)
			require.Equal(t, check == "off", len(s.Bus.Describes()) == 0)
		})
	}

	t.Run("AtMostOnceAMinute", func(t *testing.T) {
		t.Parallel()

		s := relaytest.New(t)
		relay := s.Start(t, relaytest.Settings{"EVENT_BUS_CHECK": "require"})
		for range 5 {
			s.Insert(t, 100)
			require.Equal(t, 100, relay.Succeed(t).Published)
		}
		require.Equal(t, []string{"default"}, s.Bus.Describes())
	})
}

// The bus of another account is named by its ARN; its policy refuses us.
func TestLeavesOutABusThatRefusesUsAndServesTheOthers(t *testing.T) {
	t.Parallel()

	const foreign = "arn:aws:events:eu-west-1:210987654321:event-bus/partner"
	s := relaytest.New(t, eventbridgetest.WithBuses(foreign))
	for range 3 {
		s.InsertFor(t, foreign, 20)
		s.Insert(t, 20)
	}
	s.Bus.Always(eventbridgetest.FailEntries("AccessDeniedException", "not allowed", eventbridgetest.Bus(foreign)))
	relay := s.Start(t, relaytest.Settings{"RELAY_BATCH_SIZE": "20"})

	message := relay.Fail(t)
	require.Contains(t, message, foreign)
	require.Contains(t, message, "60 published")
	require.Equal(t, 60, s.Untouched(t))

	s.Bus.Clear()
	require.Equal(t, 60, relay.Succeed(t).Published)
	s.RequireDelivered(t)
	s.RequireOnce(t)
}

// One bus is down: the others get their events in the same run.
func TestServesTheOtherBusesWhileOneIsDown(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t, eventbridgetest.WithBuses("orders"))
	s.InsertFor(t, "orders", 100)
	s.Insert(t, 100)
	s.Bus.When(func(request eventbridgetest.Request) eventbridgetest.Fault {
		if request.Entries[0].Bus == "orders" {
			return eventbridgetest.Unavailable()
		}
		return nil
	})
	relay := s.Start(t, relaytest.Settings{"RELAY_BATCH_SIZE": "50"})

	message := relay.Fail(t)
	require.Contains(t, message, "bus orders")
	require.Contains(t, message, "100 published")
	require.Equal(t, 100, s.Untouched(t))
}

func TestLeavesPausedBusesAlone(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t, eventbridgetest.WithBuses("orders"))
	s.InsertFor(t, "orders", 10)
	s.Insert(t, 10)
	relay := s.Start(t, nil)

	s.DB.Exec(t, "INSERT INTO outbox_paused (topic) VALUES ('*')")
	require.Zero(t, relay.Succeed(t).Published)
	s.DB.Exec(t, "UPDATE outbox_paused SET topic = 'orders'")
	require.Equal(t, 10, relay.Succeed(t).Published)
	require.Equal(t, 10, s.Untouched(t))
	s.DB.Exec(t, "DELETE FROM outbox_paused")
	require.Equal(t, 10, relay.Succeed(t).Published)
	s.RequireDelivered(t)
}
