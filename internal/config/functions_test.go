package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/config"
)

func TestTheOtherFunctionsHaveDefaults(t *testing.T) {
	t.Parallel()

	cleanup, err := config.ForCleanup([]string{reachable})
	require.NoError(t, err)
	require.Equal(t, config.Cleanup{
		Common: byDefault, Retention: 168 * time.Hour, BatchSize: 1000, Pause: 50 * time.Millisecond,
	}, cleanup)

	lag, err := config.ForLag([]string{reachable})
	require.NoError(t, err)
	require.Equal(t, config.Lag{Common: byDefault, Bus: "default", CountLimit: 100_000}, lag)

	migrate, err := config.ForMigrate([]string{reachable, "PARTITION_INTERVAL=off"})
	require.NoError(t, err)
	require.Equal(t, config.Migrate{Common: byDefault, PartitionAhead: 3, Retention: 168 * time.Hour}, migrate)
}

func TestTheOtherFunctionsReadTheirSettings(t *testing.T) {
	t.Parallel()

	environ := []string{
		reachable, "CLEANUP_RETENTION=0s", "CLEANUP_FAILED_RETENTION=720h", "CLEANUP_BATCH_SIZE=1", "CLEANUP_PAUSE=0s",
		"EVENT_BUS=orders", "LAG_COUNT_LIMIT=7", "PARTITION_INTERVAL=week", "PARTITION_AHEAD=9",
	}

	cleanup, err := config.ForCleanup(environ)
	require.NoError(t, err)
	require.Equal(t, config.Cleanup{Common: byDefault, FailedRetention: 720 * time.Hour, BatchSize: 1}, cleanup)
	admin, err := config.ForAdmin(environ)
	require.NoError(t, err)
	require.Equal(t, config.Lag{Common: byDefault, Bus: "orders", CountLimit: 7}, admin)
	migrate, err := config.ForMigrate(environ)
	require.NoError(t, err)
	require.Equal(t, config.Migrate{Common: byDefault, PartitionInterval: "week", PartitionAhead: 9}, migrate)
}

func TestTheOtherFunctionsRefuseWrongSettings(t *testing.T) {
	t.Parallel()

	environ := []string{
		"CLEANUP_RETENTION=-1s", "CLEANUP_FAILED_RETENTION=7", "CLEANUP_BATCH_SIZE=0", "CLEANUP_PAUSE=2m",
		"EVENT_BUS=a b", "LAG_COUNT_LIMIT=no", "PARTITION_INTERVAL=hour", "PARTITION_AHEAD=0",
	}
	missing := "DATABASE_URL is not set"

	_, err := config.ForCleanup(environ)
	for _, problem := range []string{missing, `CLEANUP_RETENTION is "-1s"`, `CLEANUP_FAILED_RETENTION is "7"`, `CLEANUP_BATCH_SIZE is "0"`, `CLEANUP_PAUSE is "2m"`} {
		require.ErrorContains(t, err, problem)
	}
	_, err = config.ForLag(environ)
	for _, problem := range []string{missing, `EVENT_BUS is "a b"`, `LAG_COUNT_LIMIT is "no"`} {
		require.ErrorContains(t, err, problem)
	}
	_, err = config.ForMigrate(environ)
	for _, problem := range []string{missing, `PARTITION_INTERVAL is "hour": expected one of off, day, week, month`, `PARTITION_AHEAD is "0"`, `CLEANUP_RETENTION is "-1s"`} {
		require.ErrorContains(t, err, problem)
	}
}
