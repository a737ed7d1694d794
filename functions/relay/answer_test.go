package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/relaytest"
)

func TestAnswersWithTheMembersOfTheContract(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 3)
	relay := s.Start(t, nil)

	var members map[string]any
	require.NoError(t, json.Unmarshal(relay.Run(t).Payload, &members))
	require.Equal(t, []string{"batches", "deferred", "duration_ms", "failed", "published", "stopped"},
		slices.Sorted(maps.Keys(members)))
	require.InDelta(t, 3, members["published"], 0)
	require.InDelta(t, 1, members["batches"], 0)
	require.Equal(t, "drained", members["stopped"])
	require.NotZero(t, members["duration_ms"])
}

// Whoever invokes it: the scheduler, a person in the console, a test event.
func TestTakesAnyEvent(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	relay := s.Start(t, nil)
	for _, event := range []any{
		nil,
		[]int{1, 2},
		"text", 5, true,
		map[string]any{},
		map[string]any{"version": "0", "detail-type": "Scheduled Event", "source": "aws.scheduler", "detail": "{}"},
	} {
		s.Insert(t, 1)
		response, err := relay.Invoke(t.Context(), event)
		require.NoError(t, err)
		require.Equal(t, 1, relaytest.Successful(t, response).Published)
	}
}

func TestServesManyInvocationsInOneSandbox(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	relay := s.Start(t, nil)
	s.Insert(t, 10)
	require.Equal(t, 10, relay.Succeed(t).Published)
	first, err := relay.PID()
	require.NoError(t, err)

	s.Insert(t, 20)
	require.Equal(t, 20, relay.Succeed(t).Published)
	s.Bus.Always(eventbridgetest.AccessDenied())
	s.Insert(t, 1)
	relay.Fail(t)
	s.Bus.Clear()
	require.Equal(t, 1, relay.Succeed(t).Published)

	last, err := relay.PID()
	require.NoError(t, err)
	require.Equal(t, first, last)
	s.RequireDelivered(t)
	s.RequireOnce(t)
	require.Zero(t, s.DB.QueryInt(t, "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND state <> 'idle'", s.Login.Name))
}

func TestEmitsEveryMetricAlsoWhenThereIsNothingToReport(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	relay := s.Start(t, relaytest.Settings{"OUTBOX_NAME": "shop", "METRICS_NAMESPACE": "Company/Relay"})

	relay.Succeed(t)
	s.Insert(t, 5)
	relay.Succeed(t)
	s.Insert(t, 1)
	s.Bus.Always(eventbridgetest.AccessDenied())
	relay.Fail(t)

	lines := relay.Metrics(t)
	require.Len(t, lines, 3)
	for i, published := range []float64{0, 5, 0} {
		line := lines[i]
		require.Equal(t, "shop", line["Outbox"])
		require.InDelta(t, published, line["EventsPublished"], 0)
		require.InDelta(t, 0, line["EventsFailed"], 0)
		for _, name := range []string{"EventsDeferred", "PublishLatency", "BatchDuration"} {
			require.Contains(t, line, name)
		}
		directive, err := json.Marshal(line["_aws"].(map[string]any)["CloudWatchMetrics"])
		require.NoError(t, err)
		require.JSONEq(t, `[{"Namespace":"Company/Relay","Dimensions":[["Outbox"]],"Metrics":[
			{"Name":"EventsPublished","Unit":"Count"},
			{"Name":"EventsFailed","Unit":"Count"},
			{"Name":"EventsDeferred","Unit":"Count"},
			{"Name":"PublishLatency","Unit":"Milliseconds"},
			{"Name":"BatchDuration","Unit":"Milliseconds"}]}]`, string(directive))
	}
	require.InDelta(t, 0, lines[0]["PublishLatency"], 0)
	require.InDelta(t, 0, lines[0]["BatchDuration"], 0)
	require.Len(t, lines[1]["PublishLatency"], 5)
	require.Positive(t, lines[1]["BatchDuration"])
}

// Ages come from the database's clock, from the event's creation on.
func TestMeasuresTheLatencyFromAnEventsCreation(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.DB.Exec(t, `INSERT INTO outbox (event_type, payload, created_at) VALUES ('Old', '{}', now() - interval '1 hour')`)
	relay := s.Start(t, nil)

	relay.Succeed(t)
	hour := float64(time.Hour.Milliseconds())
	require.InDelta(t, hour, relay.Metric(t, "PublishLatency"), hour/10)
}

func TestWritesOneLineOfSummaryAnInvocation(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	relay := s.Start(t, nil)
	s.Insert(t, 3)
	relay.Succeed(t)
	relay.Succeed(t)
	s.Insert(t, 2)
	s.Bus.Always(eventbridgetest.AccessDenied())
	relay.Fail(t)

	var published []float64
	for _, line := range relay.Lines(t) {
		if line["_aws"] != nil || line["errorType"] != nil { // metrics; what the runtime prints of an error
			continue
		}
		require.Equal(t, "run ended", line["message"], "there is no other line when nothing unusual happens")
		require.Equal(t, "INFO", line["level"])
		require.Equal(t, "outbox", line["outbox"])
		require.NotEmpty(t, line["requestId"])
		for _, key := range []string{"failed", "deferred", "batches", "stopped", "duration_ms"} {
			require.Contains(t, line, key)
		}
		published = append(published, line["published"].(float64))
	}
	require.Equal(t, []float64{3, 0, 0}, published)
}

func TestWritesNoSummaryBelowTheLogLevel(t *testing.T) {
	t.Parallel()

	relay := relaytest.New(t).Start(t, relaytest.Settings{"LOG_LEVEL": "WARN"})
	relay.Succeed(t)
	require.Len(t, relay.Lines(t), 1)
	require.Len(t, relay.Metrics(t), 1)
}

// marker is what must not be seen.
const marker = "m4rk3r"

// Errors of every kind, with the marker in payload, headers and password: it
// must turn up in no line, no answer and no reason.
func TestShowsNeitherPayloadNorPasswordWhateverGoesWrong(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.DB.Exec(t, "ALTER ROLE "+s.Login.Name+" PASSWORD '"+marker+"'")
	s.DB.Exec(t, ownTable)
	relay := s.Start(t, relaytest.Settings{
		"DATABASE_URL": strings.Replace(s.Login.URL, s.Login.Password, marker, 1),
		"LOG_LEVEL":    "debug", "RELAY_RETRY_BASE": "1ms", "RELAY_RETRY_MAX": "1ms",
	})
	insert := func(payload string) {
		s.DB.Exec(t, `INSERT INTO outbox (event_type, payload, headers) VALUES ('Secret', $1, $2)`,
			payload, `{"token":"`+marker+`"}`)
	}
	var outputs []string
	invoke := func() {
		response := relay.Run(t)
		outputs = append(outputs, string(response.Payload), response.ErrorMessage)
	}

	for _, fault := range []eventbridgetest.Fault{
		eventbridgetest.None(),
		eventbridgetest.FailEntries("InternalFailure", "try again"),
		eventbridgetest.FailEntries("AccessDeniedException", "not allowed"),
		eventbridgetest.FailEntries("MalformedDetail", "Detail is malformed."),
		eventbridgetest.Refuse(400, "ValidationException", "1 validation error detected"),
		eventbridgetest.AccessDenied(), eventbridgetest.ExpiredToken(), eventbridgetest.Unavailable(),
		eventbridgetest.GarbageBody(), eventbridgetest.HalfBody(), eventbridgetest.EmptyBody(), eventbridgetest.EntryCount(3),
		eventbridgetest.Drop(), eventbridgetest.BreakMidBody(), eventbridgetest.TooLarge(), eventbridgetest.Throttle(),
	} {
		s.Bus.Script(fault)
		insert(`{"secret":"` + marker + `"}`)
		invoke()
	}
	for _, payload := range []string{
		`"` + marker, `{"` + marker + `":`, `{"n":` + strings.Repeat("9", 40) + `,"` + marker + `":1}`,
		`["` + marker + `",` + nested(1200) + `]`, `{"` + marker + `":"` + strings.Repeat("x", 1_100_000) + `"}`,
	} {
		insert(payload)
		invoke()
	}
	// PostgreSQL shows the whole row in the detail of this error.
	s.DB.Exec(t, `ALTER TABLE events ADD CHECK (published_at IS NULL) NOT VALID`)
	insert(`{"secret":"` + marker + `"}`)
	invoke()
	s.DB.Exec(t, `ALTER TABLE events RENAME body TO content`)
	s.DB.Exec(t, `DROP VIEW outbox`)
	invoke()
	s.DB.Exec(t, "ALTER ROLE "+s.Login.Name+" PASSWORD 'another'")
	invoke()

	reasons, err := json.Marshal(postgrestest.Scalar[[]string](t, s.DB,
		"SELECT array_agg(coalesce(last_error, '') || error_message) FROM outbox_failed"))
	require.NoError(t, err)
	outputs = append(outputs, string(reasons))
	outputs = append(outputs, relay.Logs()...)
	require.Contains(t, strings.Join(outputs, "\n"), "password authentication failed", "it was not tried")
	require.Contains(t, strings.Join(outputs, "\n"), "violates check constraint", "it was not tried")
	for _, output := range outputs {
		require.NotContains(t, output, marker)
	}
	relay.Lines(t)
}
