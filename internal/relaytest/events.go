package relaytest

import (
	"testing"

	"outboxrelay/internal/postgrestest"
)

// Insert writes good events.
func (s *Scene) Insert(t *testing.T, n int) {
	t.Helper()
	s.write(t, `
		INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
		SELECT 'order', 'o-' || n, 'OrderPlaced', jsonb_build_object('n', n)
		FROM generate_series(1, $1) AS n`, n)
}

// InsertOf writes good events of a type.
func (s *Scene) InsertOf(t *testing.T, eventType string, n int) {
	t.Helper()
	s.write(t, `INSERT INTO outbox (event_type, payload) SELECT $1, '{}' FROM generate_series(1, $2)`, eventType, n)
}

// InsertFor writes good events for a bus.
func (s *Scene) InsertFor(t *testing.T, bus string, n int) {
	t.Helper()
	s.write(t, `INSERT INTO outbox (event_type, topic, payload) SELECT 'Routed', $1, '{}' FROM generate_series(1, $2)`, bus, n)
}

// InsertLarge writes events with a payload of so many bytes each.
func (s *Scene) InsertLarge(t *testing.T, n, bytes int) {
	t.Helper()
	s.write(t, `
		INSERT INTO outbox (event_type, payload)
		SELECT 'Large', jsonb_build_object('filler', repeat('x', $2::int - 14))
		FROM generate_series(1, $1)`, n, bytes)
}

// write notes what an INSERT has written, so that nothing of it can be missing.
func (s *Scene) write(t *testing.T, insert string, args ...any) {
	t.Helper()
	ids := postgrestest.Scalar[[]string](t, s.DB,
		"WITH written AS ("+insert+" RETURNING id) SELECT coalesce(array_agg(id::text), '{}') FROM written", args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = append(s.written, ids...)
}

// Pending counts the pending events.
func (s *Scene) Pending(t *testing.T) int {
	t.Helper()
	return s.Count(t, "published_at IS NULL")
}

// Published counts the published events.
func (s *Scene) Published(t *testing.T) int {
	t.Helper()
	return s.Count(t, "published_at IS NOT NULL")
}

// Untouched counts the pending events to which the relay has written nothing.
func (s *Scene) Untouched(t *testing.T) int {
	t.Helper()
	return s.Count(t, "published_at IS NULL AND attempts = 0 AND retry_at IS NULL AND last_error IS NULL")
}

// Count counts the rows that meet the condition.
func (s *Scene) Count(t *testing.T, condition string) int {
	t.Helper()
	return s.DB.QueryInt(t, "SELECT count(*) FROM outbox WHERE "+condition)
}

// IDs are those of the rows that meet the condition, in the order of seq.
func (s *Scene) IDs(t *testing.T, condition string) []string {
	t.Helper()
	return postgrestest.Scalar[[]string](t, s.DB,
		"SELECT coalesce(array_agg(id::text ORDER BY seq), '{}') FROM outbox WHERE "+condition)
}

// Reasons are the failed table's, by event type.
func (s *Scene) Reasons(t *testing.T) map[string]string {
	t.Helper()
	return postgrestest.Scalar[map[string]string](t, s.DB,
		"SELECT coalesce(jsonb_object_agg(event_type, error_code || ': ' || error_message), '{}') FROM outbox_failed")
}

// Elapse lets every backoff end.
func (s *Scene) Elapse(t *testing.T) {
	t.Helper()
	s.DB.Exec(t, "UPDATE outbox SET retry_at = now() WHERE retry_at > now()")
}
