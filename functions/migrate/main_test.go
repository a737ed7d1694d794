package main

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/lambdatest"
	"outboxrelay/internal/postgrestest"
)

// start starts the function for a database, as its superuser: it makes roles.
func start(t *testing.T, db *postgrestest.Database, env map[string]string) *lambdatest.Function {
	t.Helper()
	return startWithin(t, 30*time.Second, db, env)
}

func startWithin(t *testing.T, limit time.Duration, db *postgrestest.Database, env map[string]string) *lambdatest.Function {
	t.Helper()
	all := map[string]string{"DATABASE_URL": db.URL()}
	maps.Copy(all, env)
	bootstrap, err := lambdatest.Build(t.Context(), "migrate")
	require.NoError(t, err)
	return lambdatest.Start(t, lambdatest.Config{Bootstrap: bootstrap, Env: all, Timeout: limit, MemoryMB: 128})
}

func invoke(t *testing.T, function *lambdatest.Function) lambdatest.Response {
	t.Helper()
	response, err := function.Invoke(t.Context(), map[string]string{"source": "aws.scheduler"})
	require.NoError(t, err)
	return response
}

func TestMigratesAndThenChangesNothing(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	function := start(t, db, map[string]string{"PARTITION_INTERVAL": "month", "PARTITION_AHEAD": "1", "OUTBOX_NAME": "orders"})

	response := invoke(t, function)

	require.Empty(t, response.ErrorType, response.ErrorMessage)
	var first answer
	require.NoError(t, json.Unmarshal(response.Payload, &first))
	require.Equal(t, 0, first.From)
	require.Equal(t, 3, first.To)
	require.Contains(t, first.Applied, "0001_tables")
	require.Len(t, first.PartitionsCreated, 3, "the default one, this month, and the next")
	require.JSONEq(t, `{"from":3,"to":3,"applied":[],"partitions_created":[],"partitions_dropped":[]}`, string(invoke(t, function).Payload))
	require.Contains(t, strings.Join(function.Logs(), ""), `"outbox":"orders"`)
}

func TestAFailureIsAMigrateError(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	function := start(t, db, nil)
	require.Empty(t, invoke(t, function).ErrorType)
	db.Exec(t, "INSERT INTO outbox_schema (version) VALUES (99)")

	response := invoke(t, function)

	require.Equal(t, "MigrateError", response.ErrorType)
	require.Contains(t, response.ErrorMessage, "have version 99, this program knows versions up to 3")
	require.Contains(t, response.ErrorMessage, "in this run: applied []")
}

func TestAWrongSettingIsAMigrateError(t *testing.T) {
	t.Parallel()

	function := start(t, postgrestest.New(t), map[string]string{"PARTITION_INTERVAL": "hour"})

	response := invoke(t, function)

	require.Equal(t, "MigrateError", response.ErrorType)
	require.Contains(t, response.ErrorMessage, `PARTITION_INTERVAL is "hour": expected one of off, day, week, month`)
}

func TestATimeThatIsTooShortIsAMigrateError(t *testing.T) {
	t.Parallel()

	response := invoke(t, startWithin(t, 4*time.Second, postgrestest.New(t), nil))

	require.Equal(t, "MigrateError", response.ErrorType)
	require.Contains(t, response.ErrorMessage, "no time to migrate")
}
