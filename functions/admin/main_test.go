package main

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/lambdatest"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// scene is an outbox with the functions admin and relay, each of which has its
// role and nothing more.
type scene struct {
	db  *postgrestest.Database
	bus *eventbridgetest.Server
}

func newScene(t *testing.T, options ...eventbridgetest.Option) *scene {
	t.Helper()
	schema := postgres.Schema(postgres.Table{Schema: "public", Name: "outbox"})
	return &scene{postgrestest.New(t, postgrestest.Schema(schema)), eventbridgetest.New(t, options...)}
}

// sandbox is one in which a function runs.
type sandbox struct{ *lambdatest.Function }

func (s *scene) start(t *testing.T, name string, env map[string]string) sandbox {
	t.Helper()
	all := map[string]string{
		"DATABASE_URL":                 s.db.CreateLogin(t, "outbox_"+name).URL,
		"AWS_ENDPOINT_URL_EVENTBRIDGE": s.bus.URL(),
	}
	maps.Copy(all, env)
	bootstrap, err := lambdatest.Build(t.Context(), name)
	require.NoError(t, err)
	return sandbox{lambdatest.Start(t, lambdatest.Config{Bootstrap: bootstrap, Env: all, MemoryMB: 128})}
}

// asked is what an invocation is given.
type asked map[string]any

// succeed invokes the function and returns the members of its answer.
func (s sandbox) succeed(t *testing.T, event asked) map[string]any {
	t.Helper()
	response, err := s.Invoke(t.Context(), event)
	require.NoError(t, err)
	require.Empty(t, response.ErrorMessage)
	var members map[string]any
	require.NoError(t, json.Unmarshal(response.Payload, &members))
	return members
}

// answer is that of an action other than status.
func (s sandbox) answer(t *testing.T, event asked) answer {
	t.Helper()
	text, err := json.Marshal(s.succeed(t, event))
	require.NoError(t, err)
	var a answer
	require.NoError(t, json.Unmarshal(text, &a))
	return a
}

// fail returns the message of an AdminError.
func (s sandbox) fail(t *testing.T, event any) string {
	t.Helper()
	response, err := s.Invoke(t.Context(), event)
	require.NoError(t, err)
	require.Equal(t, "AdminError", response.ErrorType, string(response.Payload))
	return response.ErrorMessage
}

// published is how many events a run of the relay has published.
func (s sandbox) published(t *testing.T) int {
	t.Helper()
	return int(s.succeed(t, nil)["published"].(float64))
}

func seqs(events []event) []int64 {
	found := []int64{}
	for _, e := range events {
		found = append(found, e.Seq)
	}
	return found
}

func TestARedrivenEventIsPublishedAsItWas(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.db.Exec(t, `INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
		VALUES ('order', '1', 'Bad', '{"n": 1}'), ('order', '2', 'Good', '{"n": 2}')`)
	id := postgrestest.Scalar[string](t, s.db, "SELECT id::text FROM outbox WHERE seq = 1")
	admin, relay := s.start(t, "admin", nil), s.start(t, "relay", nil)
	s.bus.Always(eventbridgetest.FailEntries("MalformedDetail", "Detail is malformed.", eventbridgetest.DetailType("Bad")))
	require.Equal(t, 1, relay.published(t))
	s.bus.Clear()

	listed := admin.succeed(t, asked{"action": "list", "error_code": "MalformedDetail"})
	require.InDelta(t, 1, listed["matched"], 0)
	require.InDelta(t, 0, listed["changed"], 0)
	event := listed["events"].([]any)[0].(map[string]any)
	for _, key := range []string{"created_at", "failed_at"} {
		require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`, event[key])
		delete(event, key)
	}
	require.Equal(t, map[string]any{
		"seq": 1.0, "id": id, "event_type": "Bad", "aggregate_type": "order", "aggregate_id": "1",
		"error_code": "MalformedDetail", "error_message": "Detail is malformed.", "attempts": 1.0, "times_failed": 1.0,
	}, event)

	dry := admin.answer(t, asked{"action": "redrive", "ids": []string{id}, "dry_run": true})
	require.Equal(t, []int64{1}, seqs(dry.Events))
	require.Zero(t, dry.Changed)
	require.Equal(t, 1, s.db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
	require.Zero(t, relay.published(t))

	done := admin.answer(t, asked{"action": "redrive", "ids": []string{id}})
	require.Equal(t, 1, done.Changed)
	require.Equal(t, 1, relay.published(t))
	accepted := s.bus.Accepted()
	last := accepted[len(accepted)-1]
	require.Equal(t, id, last.ID)
	var detail struct {
		Metadata struct{ Sequence int64 }
		Data     json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(last.Detail), &detail))
	require.Equal(t, int64(1), detail.Metadata.Sequence)
	require.JSONEq(t, `{"n": 1}`, string(detail.Data))

	again := admin.succeed(t, asked{"action": "redrive", "all": true})
	require.Equal(t, map[string]any{"matched": 0.0, "changed": 0.0, "events": []any{}}, again)
	require.Equal(t, []any{"list", "redrive", "redrive", "redrive"}, values(admin.Lines(t), "action"))
	require.Equal(t, []any{1.0, 1.0, 1.0, 0.0}, values(admin.Lines(t), "matched"))
	require.Equal(t, []any{0.0, 0.0, 1.0, 0.0}, values(admin.Lines(t), "changed"))
}

func values(lines []map[string]any, key string) []any {
	var found []any
	for _, line := range lines {
		found = append(found, line[key])
	}
	return found
}

func TestAPausedBusGetsNothingUntilItIsResumed(t *testing.T) {
	t.Parallel()

	s := newScene(t, eventbridgetest.WithBuses("default", "orders"))
	s.db.Exec(t, `INSERT INTO outbox (event_type, payload, topic) VALUES ('A', '{}', 'orders'), ('A', '{}', NULL)`)
	admin, relay := s.start(t, "admin", nil), s.start(t, "relay", nil)

	require.Equal(t, answer{Matched: 0, Changed: 1, Events: []event{}}, admin.answer(t, asked{"action": "pause", "topic": "*", "reason": "why"}))
	require.Zero(t, relay.published(t))
	admin.answer(t, asked{"action": "pause", "topic": "orders"})
	admin.answer(t, asked{"action": "resume", "topic": "*"})
	require.Equal(t, 1, relay.published(t))
	require.Equal(t, answer{Matched: 1, Changed: 1, Events: []event{}}, admin.answer(t, asked{"action": "resume", "topic": "orders", "reason": "mended"}))
	require.Equal(t, 1, relay.published(t))

	require.Contains(t, admin.fail(t, asked{"action": "resume", "topic": "orders"}), `bus "orders" is not paused, nor is any other (nothing was changed)`)
	require.Equal(t, []any{"*", "orders", "*", "orders", nil}, values(admin.Lines(t), "topic"))
	require.Equal(t, []any{"why", nil, nil, "mended", nil}, values(admin.Lines(t), "reason"))
}

// Nothing else is left of an event that was discarded.
func TestADiscardLeavesATraceInTheLog(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.db.Exec(t, `INSERT INTO outbox_failed (seq, id, event_type, payload, failed_at, error_code, error_message)
		SELECT n, ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'A', '{"private": 1}', '2024-01-01', 'TooLarge', 'm' FROM generate_series(1, 9) AS n`)
	admin := s.start(t, "admin", nil)

	admin.answer(t, asked{
		"action": "discard", "ids": []string{"00000000-0000-0000-0000-000000000002", "00000000-0000-0000-0000-000000000007"},
		"event_type": "A", "error_code": "TooLarge", "failed_before": "2024-01-02T01:00:00+01:00",
	})
	admin.answer(t, asked{"action": "discard", "all": true, "limit": 3})
	admin.answer(t, asked{"action": "discard", "all": true, "dry_run": true})

	lines := admin.Lines(t)
	for _, line := range lines {
		for _, key := range []string{"timestamp", "level", "message", "requestId", "outbox"} {
			require.Contains(t, line, key)
			delete(line, key)
		}
	}
	require.Equal(t, []map[string]any{
		{
			"action": "discard", "dry_run": false, "limit": 100.0, "ids": 2.0, "event_type": "A", "error_code": "TooLarge",
			"failed_before": "2024-01-02T00:00:00.000000Z", "matched": 2.0, "changed": 2.0, "first_seq": 2.0, "last_seq": 7.0,
		},
		{"action": "discard", "dry_run": false, "limit": 3.0, "matched": 7.0, "changed": 3.0, "first_seq": 1.0, "last_seq": 4.0},
		{"action": "discard", "dry_run": true, "limit": 100.0, "matched": 4.0, "changed": 0.0},
	}, lines)
}

// Whoever repeats a change until nothing matches would go on for ever.
func TestNamesTheEventsThatTheDatabaseKeeps(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.db.Exec(t, `INSERT INTO outbox_failed (seq, id, event_type, payload, created_at, error_code, error_message)
			SELECT n, gen_random_uuid(), 'A', '{}', now(), 'c', 'm' FROM generate_series(1, 4) AS n;
		CREATE FUNCTION drop_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
		CREATE TRIGGER t BEFORE INSERT ON outbox FOR EACH ROW WHEN (NEW.seq IN (2, 4)) EXECUTE FUNCTION drop_it();
		CREATE TRIGGER t BEFORE DELETE ON outbox_failed FOR EACH ROW WHEN (OLD.seq = 4) EXECUTE FUNCTION drop_it()`)
	admin := s.start(t, "admin", nil)

	require.Equal(t, []int64{2, 4}, admin.answer(t, asked{"action": "redrive", "all": true}).Kept)
	require.Equal(t, []int64{4}, admin.answer(t, asked{"action": "discard", "all": true}).Kept)

	require.Equal(t, []any{"WARN", "INFO", "WARN", "INFO"}, values(admin.Lines(t), "level"))
	require.Equal(t, []any{[]any{2.0, 4.0}, nil, []any{4.0}, nil}, values(admin.Lines(t), "seqs"))
}

func TestStatusTellsHowThingsStand(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.db.Exec(t, `INSERT INTO outbox (event_type, payload, topic, created_at) VALUES ('A', '{}', 'orders', now()), ('A', '{}', NULL, now() - interval '1 hour');
		INSERT INTO outbox_failed (seq, error_code, error_message) VALUES (11, 'TooLarge', ''), (12, 'NotJSON', ''), (13, 'TooLarge', '');
		INSERT INTO outbox_paused (topic, reason, since) VALUES ('orders', 'why', '2024-02-29 12:00:00+00'), ('invoices', NULL, '2024-02-29 12:00:00+00')`)

	status := s.start(t, "admin", nil).succeed(t, asked{"action": "status"})

	require.GreaterOrEqual(t, status["oldest_unpublished_age_seconds"], 3600.0)
	for _, key := range []string{"oldest_unpublished_age_seconds", "oldest_transaction_age_seconds", "dead_rows"} {
		require.Contains(t, status, key)
		delete(status, key)
	}
	require.Equal(t, map[string]any{
		"unpublished": 1.0, "unpublished_is_lower_bound": false, "failed": 3.0, "paused": 1.0, "oldest_published_age_seconds": 0.0,
		"paused_buses": []any{
			map[string]any{"topic": "invoices", "since": "2024-02-29T12:00:00.000000Z"},
			map[string]any{"topic": "orders", "reason": "why", "since": "2024-02-29T12:00:00.000000Z"},
		},
		"failed_by": []any{
			map[string]any{"error_code": "TooLarge", "count": 2.0},
			map[string]any{"error_code": "NotJSON", "count": 1.0},
		},
	}, status)
}

func TestStatusTellsOfThePausesWhereTheLagCannotBeMeasured(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.db.Exec(t, `INSERT INTO outbox_paused (topic, since) VALUES ('orders', '2024-02-29 12:00:00+00');
		REVOKE SELECT (created_at) ON outbox FROM outbox_admin`)
	admin := s.start(t, "admin", nil)

	status := admin.succeed(t, asked{"action": "status"})

	require.Contains(t, status["lag_error"], "permission denied for table outbox")
	delete(status, "lag_error")
	require.Equal(t, map[string]any{
		"paused_buses": []any{map[string]any{"topic": "orders", "since": "2024-02-29T12:00:00.000000Z"}},
		"failed_by":    []any{},
	}, status)
	require.Equal(t, []any{"WARN", "INFO"}, values(admin.Lines(t), "level"))
}

func TestAnUnknownActionIsAnAdminErrorAndChangesNothing(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.db.Exec(t, `INSERT INTO outbox_failed (seq, id, event_type, payload, error_code, error_message) VALUES (1, gen_random_uuid(), 'A', '{}', 'c', 'm')`)
	admin := s.start(t, "admin", map[string]string{"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none?sslmode=disable"}) // not to be reached

	for _, wrong := range []any{
		nil, "redrive",
		[]string{"redrive"},
		asked{},
		asked{"action": "retry", "all": true},
		asked{"action": "redrive"},
		asked{"action": "discard", "al": true},
	} {
		require.Contains(t, admin.fail(t, wrong), "(nothing was changed)")
	}
	require.Contains(t, admin.fail(t, asked{"action": "discard", "all": true}), "connect to postgres")
	require.Equal(t, 1, s.db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
}

// Lambda takes an answer of 6 MB. The texts are the longest that there are, of
// the characters that are the longest in JSON.
func TestTheLongestAnswerFits(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.db.Exec(t, `INSERT INTO outbox_failed (seq, id, event_type, aggregate_type, aggregate_id, topic, source, payload, created_at, attempts,
			error_code, error_message, times_failed)
		SELECT 9223372036854774000 + n, gen_random_uuid(), v, v, v, v, v, to_jsonb(v), now(), 2147483647, v, v, 2147483647
		FROM generate_series(1, 1000) AS n, repeat(chr(1), 3000) AS v;
		INSERT INTO outbox_paused (topic, reason) SELECT n || repeat(chr(1), 300), repeat(chr(1), 100000) FROM generate_series(1, 501) AS n`)
	admin := s.start(t, "admin", nil)

	const limit = 6 << 20
	response, err := admin.Invoke(t.Context(), asked{"action": "list", "all": true, "limit": 1000})
	require.NoError(t, err)
	require.Less(t, len(response.Payload), limit)
	var listed answer
	require.NoError(t, json.Unmarshal(response.Payload, &listed))
	require.Len(t, listed.Events, 1000)
	t.Logf("an answer of %d bytes", len(response.Payload))

	response, err = admin.Invoke(t.Context(), asked{"action": "status"})
	require.NoError(t, err)
	require.Empty(t, response.ErrorMessage)
	require.Less(t, len(response.Payload), limit)
	t.Logf("a status of %d bytes", len(response.Payload))
}
