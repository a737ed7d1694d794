package main

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/lambdatest"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// lag is the function in a sandbox, with a database and a login that has the
// role outbox_lag and nothing more.
type lag struct {
	*lambdatest.Function

	db    *postgrestest.Database
	login postgrestest.Login
}

func newLag(t *testing.T, env map[string]string) lag {
	t.Helper()
	return newLagWithin(t, 30*time.Second, env)
}

func newLagWithin(t *testing.T, limit time.Duration, env map[string]string) lag {
	t.Helper()
	db := postgrestest.New(t, postgrestest.Schema(postgres.Schema(postgres.Table{Schema: "public", Name: "outbox"})))
	login := db.CreateLogin(t, "outbox_lag")
	all := map[string]string{"DATABASE_URL": login.URL}
	maps.Copy(all, env)
	bootstrap, err := lambdatest.Build(t.Context(), "lag")
	require.NoError(t, err)
	function := lambdatest.Start(t, lambdatest.Config{Bootstrap: bootstrap, Env: all, Timeout: limit, MemoryMB: 128})
	return lag{function, db, login}
}

// succeed measures once and returns the answer.
func (l lag) succeed(t *testing.T) map[string]any {
	t.Helper()
	response, err := l.Invoke(t.Context(), map[string]string{"source": "aws.scheduler"})
	require.NoError(t, err)
	require.Empty(t, response.ErrorMessage)
	var answer map[string]any
	require.NoError(t, json.Unmarshal(response.Payload, &answer))
	return answer
}

// fail measures once, which has to return an error and no metric, and returns
// the message.
func (l lag) fail(t *testing.T) string {
	t.Helper()
	before := len(l.Metrics(t))
	response, err := l.Invoke(t.Context(), nil)
	require.NoError(t, err)
	require.False(t, response.TimedOut || response.Crashed, response.ErrorMessage)
	require.Equal(t, "LagError", response.ErrorType, string(response.Payload))
	require.Len(t, l.Metrics(t), before)
	return response.ErrorMessage
}

func TestAnswersAndEmitsZerosWhenThereIsNothing(t *testing.T) {
	t.Parallel()

	l := newLag(t, nil)

	require.Equal(t, map[string]any{
		"oldest_unpublished_age_seconds": 0.0, "unpublished": 0.0, "unpublished_is_lower_bound": false,
		"failed": 0.0, "paused": 0.0, "oldest_published_age_seconds": 0.0, "dead_rows": 0.0, "oldest_transaction_age_seconds": 0.0,
	}, l.succeed(t))

	metrics := l.Metrics(t)
	require.Len(t, metrics, 1)
	declared, err := json.Marshal(metrics[0]["_aws"])
	require.NoError(t, err)
	require.Contains(t, string(declared), `"CloudWatchMetrics":[{"Dimensions":[["Outbox"]],"Metrics":[`+
		`{"Name":"OldestUnpublishedAge","Unit":"Seconds"},{"Name":"UnpublishedEvents","Unit":"Count"},`+
		`{"Name":"FailedEvents","Unit":"Count"},{"Name":"PausedEvents","Unit":"Count"},`+
		`{"Name":"OldestPublishedAge","Unit":"Seconds"},{"Name":"DeadRows","Unit":"Count"},`+
		`{"Name":"OldestTransactionAge","Unit":"Seconds"}],"Namespace":"OutboxRelay"}]`)
	delete(metrics[0], "_aws")
	require.Equal(t, map[string]any{
		"level": "FATAL", "Outbox": "outbox", "OldestUnpublishedAge": 0.0, "UnpublishedEvents": 0.0, "FailedEvents": 0.0,
		"PausedEvents": 0.0, "OldestPublishedAge": 0.0, "DeadRows": 0.0, "OldestTransactionAge": 0.0,
	}, metrics[0])
}

func TestAnswersEmitsAndLogsWhatItMeasured(t *testing.T) {
	t.Parallel()

	l := newLag(t, map[string]string{"LAG_COUNT_LIMIT": "3", "EVENT_BUS": "events", "OUTBOX_NAME": "shop", "METRICS_NAMESPACE": "Shop"})
	l.db.Exec(t, `ALTER TABLE outbox SET (autovacuum_enabled = off);
		INSERT INTO outbox (event_type, payload, topic) SELECT 'a', '{}', 'paused' FROM generate_series(1, 2);
		INSERT INTO outbox (event_type, payload, created_at) SELECT 'a', '{"secret":"marker"}', now() - interval '1 hour' FROM generate_series(1, 5);
		INSERT INTO outbox (event_type, payload, published_at) VALUES ('a', '{}', now() - interval '1 day');
		INSERT INTO outbox_failed (seq, error_code, error_message) VALUES (9, 'e', 'marker');
		INSERT INTO outbox_paused (topic, reason) VALUES ('paused', 'marker')`)
	holder := l.db.Conn(t)
	_, err := holder.Exec(t.Context(), "BEGIN; SELECT FROM outbox", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)

	answer := l.succeed(t)

	for name, want := range map[string]any{
		"unpublished": 3.0, "unpublished_is_lower_bound": true, "failed": 1.0, "paused": 2.0,
	} {
		require.Equal(t, want, answer[name], name)
	}
	require.InDelta(t, 3600, answer["oldest_unpublished_age_seconds"], 300)
	require.InDelta(t, 86_400, answer["oldest_published_age_seconds"], 300)
	require.Greater(t, answer["oldest_transaction_age_seconds"], 0.0)

	lines := l.Lines(t)
	require.Len(t, lines, 2, "metrics and a summary")
	emitted, summary := lines[0], lines[1]
	for metric, field := range map[string]string{
		"OldestUnpublishedAge": "oldest_unpublished_age_seconds", "UnpublishedEvents": "unpublished", "FailedEvents": "failed", "PausedEvents": "paused",
		"OldestPublishedAge": "oldest_published_age_seconds", "DeadRows": "dead_rows", "OldestTransactionAge": "oldest_transaction_age_seconds",
	} {
		require.Equal(t, answer[field], emitted[metric], metric)
		require.Equal(t, answer[field], summary[field], field)
	}
	require.Equal(t, true, summary["unpublished_is_lower_bound"])
	require.Equal(t, "lag measured", summary["message"])
	require.Equal(t, []any{"shop", "shop"}, []any{emitted["Outbox"], summary["outbox"]})
	require.NotContains(t, strings.Join(l.Logs(), "\n"), "marker")
}

// The sandbox stays of use after each of them.
func TestEmitsNothingWhenItCannotMeasure(t *testing.T) {
	t.Parallel()

	l := newLag(t, nil)
	l.db.Exec(t, "INSERT INTO outbox (event_type, payload) VALUES ('a', '{}')")

	l.db.Exec(t, "ALTER TABLE outbox RENAME TO elsewhere")
	require.Contains(t, l.fail(t), "correct OUTBOX_TABLE")
	l.db.Exec(t, "ALTER TABLE elsewhere RENAME TO outbox")

	conn := l.db.Conn(t)
	_, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE outbox", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	require.Contains(t, l.fail(t), "lock timeout")
	require.NoError(t, conn.Close(t.Context()))

	l.db.Exec(t, "ALTER ROLE "+l.login.Name+" PASSWORD 'another'")
	message := l.fail(t)
	require.Contains(t, message, "connect to postgres at ")
	require.NotContains(t, message, l.login.Password)
	l.db.Exec(t, "ALTER ROLE "+l.login.Name+" PASSWORD '"+l.login.Password+"'")

	require.InDelta(t, 1, l.succeed(t)["unpublished"], 0)
}

func TestSaysThatTheDeadlineIsTooNear(t *testing.T) {
	t.Parallel()

	l := newLagWithin(t, time.Second, nil)

	require.Contains(t, l.fail(t), "give the function a longer timeout")
}

func TestNamesEveryWrongSettingAtOnce(t *testing.T) {
	t.Parallel()

	l := newLag(t, map[string]string{"LAG_COUNT_LIMIT": "many", "OUTBOX_TABLE": "a.b.c", "LAG_LIMIT": "1"})

	for range 2 {
		message := l.fail(t)
		for _, key := range []string{"LAG_COUNT_LIMIT ", "OUTBOX_TABLE ", "LAG_LIMIT "} {
			require.Contains(t, message, key)
		}
	}
}
