package main

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/lambdatest"
	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// scene is a database with the tables, and a login with the role outbox_cleanup
// and nothing more.
type scene struct {
	db    *postgrestest.Database
	login postgrestest.Login
}

func newScene(t *testing.T) *scene {
	t.Helper()
	db := postgrestest.New(t, postgrestest.Schema(postgres.Schema(postgres.Table{Schema: "public", Name: "outbox"})))
	return &scene{db, db.CreateLogin(t, "outbox_cleanup")}
}

// insert writes n events that were published so many days ago.
func (s *scene) insert(t *testing.T, n, days int) {
	t.Helper()
	s.db.Exec(t, `INSERT INTO outbox (event_type, payload, published_at)
		SELECT 'OrderPlaced', '{}', now() - $2 * interval '1 day' FROM generate_series(1, $1::int)`, n, days)
}

func (s *scene) insertFailed(t *testing.T, n, days int) {
	t.Helper()
	s.db.Exec(t, `INSERT INTO outbox_failed (seq, failed_at, error_code, error_message)
		SELECT 1000 * $2::int + n, now() - $2 * interval '1 day', 'code', 'message' FROM generate_series(1, $1::int) AS n`, n, days)
}

func (s *scene) left(t *testing.T) int {
	t.Helper()
	return s.db.QueryInt(t, "SELECT count(*) FROM outbox")
}

// settings are a function's environment.
type settings map[string]string

// cleanup is the function in a sandbox.
type cleanup struct{ *lambdatest.Function }

func (s *scene) start(t *testing.T, limit time.Duration, env settings) cleanup {
	t.Helper()
	all := settings{"DATABASE_URL": s.login.URL} // it says sslmode=disable
	maps.Copy(all, env)
	bootstrap, err := lambdatest.Build(t.Context(), "cleanup")
	require.NoError(t, err)
	return cleanup{lambdatest.Start(t, lambdatest.Config{Bootstrap: bootstrap, Env: all, Timeout: limit})}
}

func (c cleanup) invoke(t *testing.T, event any) lambdatest.Response {
	t.Helper()
	response, err := c.Invoke(t.Context(), event)
	require.NoError(t, err)
	require.False(t, response.TimedOut || response.Crashed, response.ErrorMessage)
	return response
}

// succeed runs the function once and returns its answer.
func (c cleanup) succeed(t *testing.T) answer {
	t.Helper()
	response := c.invoke(t, map[string]string{"source": "aws.scheduler"})
	require.Empty(t, response.ErrorMessage)
	var a answer
	require.NoError(t, json.Unmarshal(response.Payload, &a))
	return a
}

// requireAnswer takes more batches for as good: a slow machine makes them small.
func requireAnswer(t *testing.T, expected, given answer) {
	t.Helper()
	require.GreaterOrEqual(t, given.Batches, expected.Batches)
	given.Batches = expected.Batches
	require.Equal(t, expected, given)
}

// fail runs the function once, which has to return an error of its type, and
// returns the message.
func (c cleanup) fail(t *testing.T) string {
	t.Helper()
	response := c.invoke(t, nil)
	require.Equal(t, "CleanupError", response.ErrorType, string(response.Payload))
	return response.ErrorMessage
}

func TestDeletesWhatWasPublishedLongerAgoThanAWeek(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 2500, 8)
	s.insert(t, 10, 6)
	s.insertFailed(t, 10, 1000)
	s.db.Exec(t, "INSERT INTO outbox (event_type, payload, created_at) VALUES ('Pending', '{}', now() - interval '1 year')")
	cleanup := s.start(t, 30*time.Second, nil)

	requireAnswer(t, answer{Deleted: 2500, Batches: 3, Stopped: "done"}, cleanup.succeed(t))
	require.Equal(t, 11, s.left(t))
	require.Equal(t, 10, s.db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
	require.Equal(t, answer{Stopped: "done"}, cleanup.succeed(t))
	require.Zero(t, s.db.QueryInt(t, "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND state <> 'idle'", s.login.Name))
}

func TestGoesByItsSettings(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 20, 2)
	s.insert(t, 1, 0)
	s.insertFailed(t, 15, 4)
	s.insertFailed(t, 1, 2)
	cleanup := s.start(t, 30*time.Second, settings{
		"CLEANUP_RETENTION": "24h", "CLEANUP_FAILED_RETENTION": "72h", "CLEANUP_BATCH_SIZE": "10", "CLEANUP_PAUSE": "0s",
	})

	requireAnswer(t, answer{Deleted: 20, DeletedFailed: 15, Batches: 4, Stopped: "done"}, cleanup.succeed(t))
	require.Equal(t, 1, s.left(t))
	require.Equal(t, 1, s.db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
}

func TestAnswersWithTheMembersOfTheContractWhateverTheEvent(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	cleanup := s.start(t, 30*time.Second, nil)
	for _, event := range []any{nil, "text", 5, []int{1}, map[string]any{"detail": map[string]any{}}} {
		s.insert(t, 3, 8)
		require.JSONEq(t, `{"deleted":3,"deleted_failed":0,"batches":1,"stopped":"done"}`, string(cleanup.invoke(t, event).Payload))
	}
}

// The pause would outlast the time that is left.
func TestEndsBeforeItsDeadline(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 20, 8)
	cleanup := s.start(t, 5*time.Second, settings{"CLEANUP_BATCH_SIZE": "10", "CLEANUP_PAUSE": "1m"})

	require.Equal(t, answer{Deleted: 10, Batches: 1, Stopped: "budget"}, cleanup.succeed(t))
	require.Equal(t, 10, s.left(t))
}

func TestTooShortATimeoutIsAnError(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 1, 8)
	require.Contains(t, s.start(t, 2*time.Second, nil).fail(t), "no time for any work")
	require.Equal(t, 1, s.left(t))
}

func TestNamesTheRowThatItCouldNotDelete(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 100, 8)
	s.db.Exec(t, `
		CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'seven stays'; END $$;
		CREATE TRIGGER keep BEFORE DELETE ON outbox FOR EACH ROW WHEN (old.seq = 7) EXECUTE FUNCTION keep()`)
	cleanup := s.start(t, 30*time.Second, nil)

	message := cleanup.fail(t)
	require.Contains(t, message, "published event with seq 7 could not be deleted and is left to the next run")
	require.Contains(t, message, "seven stays")
	require.Contains(t, message, "(in this run: 99 deleted, 0 failed events deleted)")
	require.Equal(t, 1, s.left(t))
	require.InDelta(t, 99, cleanup.Metrics(t)[0]["RowsDeleted"], 0)
}

func TestNamesWhatIsWrong(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	for says, env := range map[string]settings{
		"CLEANUP_RETENTION ":                      {"CLEANUP_RETENTION": "a week", "CLEANUP_BATCHSIZE": "10"},
		"give the user the role outbox_cleanup":   {"DATABASE_URL": s.db.CreateLogin(t).URL},
		`relation "shop.events" does not exist`:   {"OUTBOX_TABLE": "shop.events"},
		"password authentication failed for user": {"DATABASE_URL": s.db.Server.URL(s.db.Name, s.login.Name, "wrong")},
	} {
		require.Contains(t, s.start(t, 30*time.Second, env).fail(t), says)
	}
}

func TestEmitsAMetricAndWritesASummaryInEachRun(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	cleanup := s.start(t, 30*time.Second, settings{
		"OUTBOX_NAME": "shop", "METRICS_NAMESPACE": "Company/Relay", "CLEANUP_FAILED_RETENTION": "24h",
	})
	cleanup.succeed(t)
	s.insert(t, 5, 8)
	s.insertFailed(t, 2, 8)
	cleanup.succeed(t)
	s.db.Exec(t, "DROP TABLE outbox")
	cleanup.fail(t)

	metrics := cleanup.Metrics(t)
	require.Len(t, metrics, 3)
	for i, rows := range []float64{0, 7, 0} {
		require.InDelta(t, rows, metrics[i]["RowsDeleted"], 0)
		require.Equal(t, "shop", metrics[i]["Outbox"])
		directive, err := json.Marshal(metrics[i]["_aws"].(map[string]any)["CloudWatchMetrics"])
		require.NoError(t, err)
		require.JSONEq(t, `[{"Namespace":"Company/Relay","Dimensions":[["Outbox"]],"Metrics":[{"Name":"RowsDeleted","Unit":"Count"}]}]`, string(directive))
	}
	lines := slices.DeleteFunc(cleanup.Lines(t), func(line map[string]any) bool { return line["_aws"] != nil || line["errorType"] != nil })
	require.Len(t, lines, 3)
	for i, stopped := range []any{"done", "done", nil} {
		line := lines[i]
		require.Equal(t, "run ended", line["message"])
		require.Equal(t, "shop", line["outbox"])
		require.Equal(t, stopped, line["stopped"])
		require.NotEmpty(t, line["requestId"])
		for _, key := range []string{"deleted", "deleted_failed", "batches", "duration_ms"} {
			require.Contains(t, line, key)
		}
	}
	require.InDelta(t, 5, lines[1]["deleted"], 0)
	require.InDelta(t, 2, lines[1]["deleted_failed"], 0)
}

func TestCleanupErrorTellsTheCauseAndWhatWasDoneBefore(t *testing.T) {
	t.Parallel()

	cause := errors.New("connection reset")
	err := &CleanupError{report: outbox.CleanupReport{Deleted: 3, DeletedFailed: 2}, cause: cause}
	require.EqualError(t, err, "connection reset (in this run: 3 deleted, 2 failed events deleted)")
	require.ErrorIs(t, err, cause)
}
