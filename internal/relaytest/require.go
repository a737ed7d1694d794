package relaytest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgrestest"
)

// RequireNoFalseMark holds at any time: what is marked was accepted.
func (s *Scene) RequireNoFalseMark(t *testing.T) {
	t.Helper()
	marked := s.IDs(t, "published_at IS NOT NULL") // before it is asked what was accepted
	accepted := s.Bus.AcceptedIDs()
	for _, id := range marked {
		require.NotZero(t, accepted[id], "event %s is marked and was never accepted", id)
	}
}

// RequireDelivered says that nothing is pending, that what is marked was accepted, and
// that each event that Insert and its like have written was accepted or is in the failed
// table: a row that is gone is no excuse.
func (s *Scene) RequireDelivered(t *testing.T) {
	t.Helper()
	require.Zero(t, s.Pending(t), "events are still pending")
	s.RequireNoFalseMark(t)
	failed := postgrestest.Scalar[[]string](t, s.DB, "SELECT coalesce(array_agg(id::text), '{}') FROM outbox_failed")
	accepted := s.Bus.AcceptedIDs()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.written {
		require.True(t, accepted[id] > 0 || slices.Contains(failed, id), "event %s was written and is lost", id)
	}
}

// RequireOnce says that no event was accepted twice.
func (s *Scene) RequireOnce(t *testing.T) {
	t.Helper()
	for id, times := range s.Bus.AcceptedIDs() {
		require.Equal(t, 1, times, "event %s", id)
	}
}

// RequireNoLocks waits for every row's lock: the server learns of a session
// that was broken off a moment later.
func (s *Scene) RequireNoLocks(t *testing.T) {
	t.Helper()
	s.DB.Exec(t, `SET lock_timeout = '10s'; DO $$ BEGIN PERFORM FROM outbox FOR UPDATE; END $$`)
}

// RequireFewTries says how often any event was sent at the most.
func (s *Scene) RequireFewTries(t *testing.T, most int) {
	t.Helper()
	tries := map[string]int{}
	for _, request := range s.Bus.Requests() {
		for _, entry := range request.Entries {
			tries[entry.ID]++
		}
	}
	require.NotEmpty(t, tries)
	for id, n := range tries {
		require.LessOrEqual(t, n, most, "event %s", id)
	}
}
