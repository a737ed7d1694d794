package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/relaytest"
)

// The bus takes 2 seconds for each answer, the function has 9, and there is more to
// do than it can do.
func TestEndsBeforeTheDeadlineWithItsWorkRecorded(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t, eventbridgetest.WithLatency(2*time.Second))
	s.Insert(t, 10_000)
	relay := s.StartWithin(t, 9*time.Second, relaytest.Settings{"RELAY_RESERVE": "1s", "PUT_EVENTS_TIMEOUT": "3s"})

	published := 0
	for range 2 {
		answer := relay.Succeed(t) // the emulator would have ended it
		require.Equal(t, "budget", answer.Stopped)
		require.NotZero(t, answer.Published)
		published += answer.Published
	}
	require.Equal(t, published, s.Published(t))
	require.Len(t, s.Bus.AcceptedIDs(), published, "something was accepted and not recorded")
	s.RequireNoFalseMark(t)
	s.RequireOnce(t)
}
