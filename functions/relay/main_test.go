package main

import (
	"context"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/lambdatest"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// TestMain lets more tests run at once than there are cores: most of them wait,
// for a slow bus or for a time limit.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "10")
	}
	os.Exit(m.Run())
}

var schema = postgres.Schema(postgres.Table{Schema: "public", Name: "outbox"})

// scene is what surrounds a relay: a database with the tables, a login with the
// role outbox_relay and nothing more, and the stand-in for EventBridge.
type scene struct {
	db    *postgrestest.Database
	login postgrestest.Login
	bus   *eventbridgetest.Server
}

func newScene(t *testing.T, options ...eventbridgetest.Option) *scene {
	t.Helper()
	server, err := postgrestest.Shared()
	require.NoError(t, err)
	return newSceneOn(t, server, options...)
}

func newSceneOn(t *testing.T, server *postgrestest.Server, options ...eventbridgetest.Option) *scene {
	t.Helper()
	db := postgrestest.New(t, postgrestest.On(server), postgrestest.Schema(schema))
	return &scene{db: db, login: db.CreateLogin(t, "outbox_relay"), bus: eventbridgetest.New(t, options...)}
}

// settings are a function's environment.
type settings map[string]string

// relay is the function in a sandbox.
type relay struct{ *lambdatest.Function }

// start starts a function with a limit of 30 seconds.
func (s *scene) start(t *testing.T, env settings) relay {
	t.Helper()
	return s.startWithin(t, 30*time.Second, env)
}

func (s *scene) startWithin(t *testing.T, limit time.Duration, env settings) relay {
	t.Helper()
	all := settings{
		"DATABASE_URL":                 s.login.URL, // it says sslmode=disable
		"AWS_ENDPOINT_URL_EVENTBRIDGE": s.bus.URL(),
	}
	maps.Copy(all, env)
	maps.DeleteFunc(all, func(_, value string) bool { return value == unset })
	bootstrap, err := lambdatest.Build(t.Context(), "relay")
	require.NoError(t, err)
	return relay{lambdatest.Start(t, lambdatest.Config{Bootstrap: bootstrap, Env: all, Timeout: limit, MemoryMB: 128})}
}

// unset takes a setting away that every scene has.
const unset = "\x00"

// invoke runs the function once, as the scheduler does.
func (r relay) invoke(t *testing.T) lambdatest.Response {
	t.Helper()
	response, err := r.Invoke(t.Context(), map[string]string{"source": "aws.scheduler"})
	require.NoError(t, err)
	return response
}

// invocation is one that goes on while the test does something else.
type invocation struct {
	ended    chan struct{} // closed when there is a response
	response lambdatest.Response
	err      error
}

func (r relay) begin(t *testing.T) *invocation {
	t.Helper()
	i := &invocation{ended: make(chan struct{})}
	go func() {
		defer close(i.ended)
		i.response, i.err = r.Invoke(t.Context(), nil)
	}()
	return i
}

// wait returns the response once it is there.
func (i *invocation) wait(t *testing.T) lambdatest.Response {
	t.Helper()
	<-i.ended
	require.NoError(t, i.err)
	return i.response
}

// succeed runs the function once and returns its answer.
func (r relay) succeed(t *testing.T) answer {
	t.Helper()
	return successful(t, r.invoke(t))
}

// successful reads the answer of an invocation that has not failed.
func successful(t *testing.T, response lambdatest.Response) answer {
	t.Helper()
	require.Empty(t, response.ErrorMessage)
	var a answer
	require.NoError(t, json.Unmarshal(response.Payload, &a))
	return a
}

// fail runs the function once, which has to return an error of its type, and
// returns the message.
func (r relay) fail(t *testing.T) string {
	t.Helper()
	response := r.invoke(t)
	require.False(t, response.TimedOut || response.Crashed, response.ErrorMessage)
	require.Equal(t, "RelayError", response.ErrorType, string(response.Payload))
	return response.ErrorMessage
}

// drain runs the function until nothing is left, at most a few times.
func (r relay) drain(t *testing.T, s *scene) {
	t.Helper()
	for range 5 {
		r.invoke(t)
		if s.pending(t) == 0 {
			return
		}
	}
	require.Zero(t, s.pending(t), "events are still pending after 5 runs")
}

// metric is the value of a metric of the last run.
func (r relay) metric(t *testing.T, name string) any {
	t.Helper()
	lines := r.Metrics(t)
	require.NotEmpty(t, lines)
	return lines[len(lines)-1][name]
}

// summary is the line that the last run has written to the log.
func (r relay) summary(t *testing.T) map[string]any {
	t.Helper()
	for _, line := range slices.Backward(r.Lines(t)) {
		if line["message"] == "run ended" {
			return line
		}
	}
	require.Fail(t, "there is no summary")
	return nil
}

// insert writes good events.
func (s *scene) insert(t *testing.T, n int) {
	t.Helper()
	s.db.Exec(t, `
		INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
		SELECT 'order', 'o-' || n, 'OrderPlaced', jsonb_build_object('n', n)
		FROM generate_series(1, $1) AS n`, n)
}

// insertOf writes good events of a type.
func (s *scene) insertOf(t *testing.T, eventType string, n int) {
	t.Helper()
	s.db.Exec(t, `INSERT INTO outbox (event_type, payload) SELECT $1, '{}' FROM generate_series(1, $2)`, eventType, n)
}

// insertLarge writes events with a payload of so many bytes each.
func (s *scene) insertLarge(t *testing.T, n, bytes int) {
	t.Helper()
	s.db.Exec(t, `
		INSERT INTO outbox (event_type, payload)
		SELECT 'Large', jsonb_build_object('filler', repeat('x', $2::int - 14))
		FROM generate_series(1, $1)`, n, bytes)
}

func (s *scene) pending(t *testing.T) int {
	t.Helper()
	return s.count(t, "published_at IS NULL")
}

func (s *scene) published(t *testing.T) int {
	t.Helper()
	return s.count(t, "published_at IS NOT NULL")
}

// untouched counts the pending events to which the relay has written nothing.
func (s *scene) untouched(t *testing.T) int {
	t.Helper()
	return s.count(t, "published_at IS NULL AND attempts = 0 AND retry_at IS NULL AND last_error IS NULL")
}

func (s *scene) count(t *testing.T, condition string) int {
	t.Helper()
	return s.db.QueryInt(t, "SELECT count(*) FROM outbox WHERE "+condition)
}

// ids are those of the rows that meet the condition, in the order of seq.
func (s *scene) ids(t *testing.T, condition string) []string {
	t.Helper()
	return postgrestest.Scalar[[]string](t, s.db,
		"SELECT coalesce(array_agg(id::text ORDER BY seq), '{}') FROM outbox WHERE "+condition)
}

// reasons are the failed table's, by event type.
func (s *scene) reasons(t *testing.T) map[string]string {
	t.Helper()
	return postgrestest.Scalar[map[string]string](t, s.db,
		"SELECT coalesce(jsonb_object_agg(event_type, error_code || ': ' || error_message), '{}') FROM outbox_failed")
}

// elapse lets every backoff end.
func (s *scene) elapse(t *testing.T) {
	t.Helper()
	s.db.Exec(t, "UPDATE outbox SET retry_at = now() WHERE retry_at > now()")
}

// requireNoFalseMark holds at any time: what is marked was accepted.
func (s *scene) requireNoFalseMark(t *testing.T) {
	t.Helper()
	marked := s.ids(t, "published_at IS NOT NULL") // before it is asked what was accepted
	accepted := s.bus.AcceptedIDs()
	for _, id := range marked {
		require.NotZero(t, accepted[id], "event %s is marked and was never accepted", id)
	}
}

// requireDelivered says that all events are marked, and were accepted.
func (s *scene) requireDelivered(t *testing.T) {
	t.Helper()
	require.Zero(t, s.pending(t), "events are still pending")
	s.requireNoFalseMark(t)
}

// requireOnce says that no event was accepted twice.
func (s *scene) requireOnce(t *testing.T) {
	t.Helper()
	for id, times := range s.bus.AcceptedIDs() {
		require.Equal(t, 1, times, "event %s", id)
	}
}

// requireNoLocks waits for every row's lock: the server learns of a session
// that was broken off a moment later.
func (s *scene) requireNoLocks(t *testing.T) {
	t.Helper()
	s.db.Exec(t, `SET lock_timeout = '10s'; DO $$ BEGIN PERFORM FROM outbox FOR UPDATE; END $$`)
}

// requireFewTries says how often any event was sent at the most.
func (s *scene) requireFewTries(t *testing.T, most int) {
	t.Helper()
	tries := map[string]int{}
	for _, request := range s.bus.Requests() {
		for _, entry := range request.Entries {
			tries[entry.ID]++
		}
	}
	require.NotEmpty(t, tries)
	for id, n := range tries {
		require.LessOrEqual(t, n, most, "event %s", id)
	}
}

// within is a context for something that has to happen in time.
func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// nested is JSON text of arrays in arrays.
func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}
