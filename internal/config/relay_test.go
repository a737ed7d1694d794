package config_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/config"
)

// reachable is the least that a relay needs.
const reachable = "PGHOST=db.example"

// byDefault is what every function has where only the database is named.
var byDefault = config.Common{
	Database: config.Database{ConnectTimeout: 10 * time.Second, Host: "db.example"},
	Outbox: config.Outbox{
		Table: config.Table{Schema: "public", Name: "outbox"}, Name: "outbox", MetricsNamespace: "OutboxRelay",
	},
	LogLevel: slog.LevelInfo,
}

func TestReadsDefaults(t *testing.T) {
	t.Parallel()

	settings, err := config.ForRelay([]string{reachable, "PATH=/bin", "AWS_REGION=eu-west-1"})

	require.NoError(t, err)
	require.Equal(t, config.Relay{
		Common: byDefault,
		EventBridge: config.EventBridge{
			Bus: "default", Source: "outbox", Envelope: "metadata", BusCheck: "warn",
			MaxEntries: 10, MaxBytes: 1_000_000, Timeout: 5 * time.Second,
		},
		BatchSize: 500, BatchBytes: 4_194_304, Workers: 4, Concurrency: 64,
		Reserve: 5 * time.Second, Parallel: 1, FrontScanMax: 5 * time.Second,
		RetryBase: time.Second, RetryMax: 5 * time.Minute, MaxAttempts: 50,
	}, settings)
}

func TestReadsEverySetting(t *testing.T) {
	t.Parallel()

	settings, err := config.ForRelay([]string{
		"DATABASE_URL=postgres://db.example/app",
		"DATABASE_SECRET_ARN=arn:aws:secretsmanager:eu-west-1:123456789012:secret:app/db-AbCdEf",
		"DATABASE_IAM_AUTH=false", "DATABASE_CONNECT_TIMEOUT=30s",
		"PGHOST=other.example", "PGPORT=6432", "PGDATABASE=app", "PGUSER=relay", "PGSSLMODE=verify-ca",
		`OUTBOX_TABLE="Sales"."Out""box"`, "OUTBOX_NAME=sales",
		"EVENT_BUS=arn:aws-us-gov:events:us-gov-west-1:123456789012:event-bus/orders", "EVENT_SOURCE=shop.orders",
		"EVENT_ENVELOPE=cloudevents", "EVENT_BUS_CHECK=require", "EVENT_ENDPOINT_ID=abcde.veo",
		"PUT_EVENTS_MAX_ENTRIES=1", "PUT_EVENTS_MAX_BYTES=262144", "PUT_EVENTS_TIMEOUT=10s",
		"RELAY_BATCH_SIZE=10000", "RELAY_BATCH_BYTES=1048576", "RELAY_WORKERS=4", "RELAY_CONCURRENCY=8",
		"RELAY_MAX_RATE=300", "RELAY_RESERVE=1s", "RELAY_POLL_INTERVAL=500ms", "RELAY_PARALLEL=64", "RELAY_LISTEN=false",
		"RELAY_FRONT_SCAN_MAX=1m", "RELAY_RETRY_BASE=2s", "RELAY_RETRY_MAX=2s", "RELAY_MAX_ATTEMPTS=7",
		"RELAY_ORDERING=none", "RELAY_SLOTS=32", "RELAY_ON_POISON=continue", "RELAY_ON_PUBLISHED=delete",
		"METRICS_NAMESPACE=Shop/Outbox", "LOG_LEVEL=DEBUG",
	})

	require.NoError(t, err)
	require.Equal(t, config.Relay{
		Common: config.Common{
			Database: config.Database{
				URL:            "postgres://db.example/app",
				SecretARN:      "arn:aws:secretsmanager:eu-west-1:123456789012:secret:app/db-AbCdEf",
				ConnectTimeout: 30 * time.Second, Host: "other.example", Port: "6432", Name: "app", User: "relay", SSLMode: "verify-ca",
			},
			Outbox: config.Outbox{
				Table: config.Table{Schema: "Sales", Name: `Out"box`}, Name: "sales", MetricsNamespace: "Shop/Outbox",
			},
			LogLevel: slog.LevelDebug,
		},
		EventBridge: config.EventBridge{
			Bus:    "arn:aws-us-gov:events:us-gov-west-1:123456789012:event-bus/orders",
			Source: "shop.orders", Envelope: "cloudevents", BusCheck: "require", EndpointID: "abcde.veo",
			MaxEntries: 1, MaxBytes: 262_144, Timeout: 10 * time.Second,
		},
		BatchSize: 10_000, BatchBytes: 1 << 20, Workers: 4, Concurrency: 8, MaxRate: 300,
		Reserve: time.Second, PollInterval: 500 * time.Millisecond, Parallel: 64, FrontScanMax: time.Minute,
		RetryBase: 2 * time.Second, RetryMax: 2 * time.Second, MaxAttempts: 7, DeletePublished: true,
	}, settings)
}

func TestRefusesWrongSettings(t *testing.T) {
	t.Parallel()

	longName := strings.Repeat("n", 57)
	for setting, problem := range map[string]string{
		"DATABASE_CONNECT_TIMEOUT=10":               `DATABASE_CONNECT_TIMEOUT is "10": expected a duration with its unit (ms, s, m, h), from 100ms to 5m`,
		"DATABASE_CONNECT_TIMEOUT=0s":               "from 100ms to 5m",
		"DATABASE_IAM_AUTH=1":                       `DATABASE_IAM_AUTH is "1": expected true or false`,
		"DATABASE_SECRET_ARN=hunter2":               "DATABASE_SECRET_ARN (not shown) is no ARN of a secret",
		"DATABASE_URL=mysql://hunter2@db":           "DATABASE_URL (not shown) is not what it has to be: expected postgres://",
		"DATABASE_URL=hunter2":                      "DATABASE_URL (not shown)",
		"PGSSLMODE=prefer":                          `PGSSLMODE is "prefer": expected one of verify-full, verify-ca, require, disable`,
		"PGSSLMODE=allow":                           "PGSSLMODE",
		"OUTBOX_TABLE=":                             `OUTBOX_TABLE is "": expected schema.table or table`,
		"OUTBOX_TABLE=a.b.c":                        "expected schema.table without a database",
		"OUTBOX_TABLE=" + longName:                  "expected a table name of at most 49 bytes",
		"OUTBOX_NAME=":                              "OUTBOX_NAME",
		"OUTBOX_NAME= padded":                       "OUTBOX_NAME",
		"EVENT_BUS=":                                `EVENT_BUS is "": expected the name or ARN of an event bus`,
		"EVENT_BUS= ":                               "EVENT_BUS",
		"EVENT_BUS=arn:aws:sqs:eu-west-1:1:q":       "EVENT_BUS",
		"EVENT_SOURCE=":                             "EVENT_SOURCE",
		"EVENT_SOURCE=aws.orders":                   "not beginning with aws., which is reserved",
		"EVENT_ENVELOPE=xml":                        `EVENT_ENVELOPE is "xml": expected one of metadata, cloudevents, raw`,
		"EVENT_BUS_CHECK=yes":                       "expected one of require, warn, off",
		"EVENT_ENDPOINT_ID=abcde":                   "EVENT_ENDPOINT_ID",
		"PUT_EVENTS_MAX_ENTRIES=0":                  `PUT_EVENTS_MAX_ENTRIES is "0": expected a whole number from 1 to 10`,
		"PUT_EVENTS_MAX_ENTRIES=11":                 "from 1 to 10",
		"PUT_EVENTS_MAX_BYTES=1048577":              "from 1024 to 1048576",
		"PUT_EVENTS_TIMEOUT=0s":                     "PUT_EVENTS_TIMEOUT",
		"PUT_EVENTS_TIMEOUT=11s":                    "from 1ms to 10s: a batch has to be published within 15s",
		"RELAY_BATCH_SIZE=5e2":                      "from 1 to 10000",
		"RELAY_BATCH_SIZE=10001":                    "from 1 to 10000",
		"RELAY_BATCH_BYTES=4MB":                     "RELAY_BATCH_BYTES",
		"RELAY_WORKERS=0":                           "from 1 to 64",
		"RELAY_CONCURRENCY=0":                       "RELAY_CONCURRENCY",
		"RELAY_MAX_RATE=-1":                         "RELAY_MAX_RATE",
		"RELAY_RESERVE=999ms":                       "from 1s to 5m",
		"RELAY_POLL_INTERVAL=1ms":                   "0s or at least 10ms",
		"RELAY_POLL_INTERVAL=-1s":                   "RELAY_POLL_INTERVAL",
		"RELAY_PARALLEL=0":                          "from 1 to 64",
		"RELAY_PARALLEL=65":                         "from 1 to 64",
		"RELAY_FRONT_SCAN_MAX=0s":                   "RELAY_FRONT_SCAN_MAX",
		"RELAY_RETRY_BASE=6m":                       "RELAY_RETRY_BASE is 6m: expected at most RELAY_RETRY_MAX, which is 5m",
		"RELAY_RETRY_MAX=never":                     `RELAY_RETRY_MAX is "never": expected a duration with its unit (ms, s, m, h), from 1ms to 24h`,
		"RELAY_MAX_ATTEMPTS=0":                      "RELAY_MAX_ATTEMPTS",
		"RELAY_LISTEN=true":                         "RELAY_LISTEN is true: not supported yet in this version, and LISTEN would need a session that poolers in transaction mode do not have",
		"RELAY_LISTEN=True":                         "expected true or false",
		"RELAY_ORDERING=aggregate":                  "RELAY_ORDERING is aggregate: not supported yet in this version, expected none",
		"RELAY_ON_POISON=hold":                      "RELAY_ON_POISON is hold: not supported yet in this version, expected continue",
		"RELAY_SLOTS=0":                             "RELAY_SLOTS",
		"RELAY_ON_PUBLISHED=archive":                "expected one of mark, delete",
		"METRICS_NAMESPACE=AWS/Lambda":              "not beginning with AWS/",
		"METRICS_NAMESPACE=":                        "METRICS_NAMESPACE",
		"LOG_LEVEL=verbose":                         "expected one of debug, info, warn, error",
		"EVENT_BUS=!" + strings.Repeat("b", 10_000): `bbb"...: expected`,
	} {
		t.Run(setting[:min(len(setting), 40)], func(t *testing.T) {
			t.Parallel()

			_, err := config.ForRelay([]string{reachable, setting})

			require.ErrorContains(t, err, problem)
			require.NotContains(t, err.Error(), "hunter2")
			require.Less(t, len(err.Error()), 400)
			require.NotContains(t, err.Error(), "; ", "one problem")
		})
	}
}

func TestRefusesUnknownKeys(t *testing.T) {
	t.Parallel()

	for key, problem := range map[string]string{
		"RELAY_BATCHSIZE":   "RELAY_BATCHSIZE is no setting: did you mean RELAY_BATCH_SIZE?",
		"relay_batch_size":  "did you mean RELAY_BATCH_SIZE?",
		"RELY_BATCH_SIZE":   "did you mean RELAY_BATCH_SIZE?",
		"EVENTBUS":          "did you mean EVENT_BUS?",
		"RELAY_POLL":        "did you mean RELAY_POLL_INTERVAL?",
		"OUTBOX_TABEL":      "did you mean OUTBOX_TABLE?",
		"DATABASE_PASSWORD": "DATABASE_PASSWORD is no setting",
		"LOGLEVEL":          "did you mean LOG_LEVEL?",
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()

			_, err := config.ForRelay([]string{reachable, key + "=hunter2"})

			require.ErrorContains(t, err, problem)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestSuggestsOnlyWhatIsNear(t *testing.T) {
	t.Parallel()

	keys := []string{"databaseHost", "databaseSecretArn", "databaseSecretKeyArn", "eventBus", "relayEvery", "relayUser", "subnetIds", "tags", "vpcId"}
	for key, suggested := range map[string]string{
		"databaseSecret": "databaseSecretArn", "event_bus": "eventBus", "eventBuss": "eventBus", "RelayEvry": "relayEvery",
		"subnet": "subnetIds", "tag": "tags", "vpc": "vpcId",
		"relay": "", "database": "", "bus": "", "team": "", "region": "", "env": "", "e": "", "": "",
	} {
		expected := ""
		if suggested != "" {
			expected = ": did you mean " + suggested + "?"
		}
		require.Equal(t, expected, config.Suggest(key, keys), key)
	}
}

func TestSaysHowDaysAreWritten(t *testing.T) {
	t.Parallel()

	_, err := config.ForCleanup([]string{reachable, "CLEANUP_RETENTION=7d", "CLEANUP_FAILED_RETENTION=1d", "CLEANUP_PAUSE=1d2h"})
	require.ErrorContains(t, err, `CLEANUP_RETENTION is "7d": expected a duration with its unit (ms, s, m, h), from 0s to 876000h: 7 days are 168h;`)
	require.ErrorContains(t, err, "from 0s to 876000h: a day is 24h;")
	require.NotContains(t, err.Error(), "from 0s to 1m:")
}

func TestLeavesKeysOfOthersAlone(t *testing.T) {
	t.Parallel()

	_, err := config.ForRelay([]string{
		reachable, "CLEANUP_RETENTION=168h", "PARTITION_INTERVAL=day", "LAG_COUNT_LIMIT=5", // other functions'
		"LOG_FORMAT=json", "METRICS_PORT=9090", "AWS_ENDPOINT_URL_EVENTBRIDGE=http://127.0.0.1:1", "PGUSER=relay",
		"OUTBOX_TEST_PG_BIN=/usr/lib/postgresql/15/bin", "=C:=weird", "NOVALUE",
	})

	require.NoError(t, err)
}

func TestWantsAWayToTheDatabase(t *testing.T) {
	t.Parallel()

	_, err := config.ForRelay([]string{"PGDATABASE=app", "DATABASE_URL="})
	require.EqualError(t, err, "configuration: DATABASE_URL is not set: set it, or PGHOST, or DATABASE_SECRET_ARN")

	for _, way := range []string{
		"PGHOST=db", "PGSERVICE=outbox", "DATABASE_URL=host=db", "DATABASE_URL=postgresql:///app",
		"DATABASE_SECRET_ARN=arn:aws-cn:secretsmanager:cn-north-1:123456789012:secret:rds!cluster-1234",
	} {
		_, err := config.ForRelay([]string{way})
		require.NoError(t, err, way)
	}
}

func TestReadsThatTokensTakeThePasswordsPlace(t *testing.T) {
	t.Parallel()

	settings, err := config.ForRelay([]string{reachable, "PGUSER=relay", "DATABASE_IAM_AUTH=true"})

	require.NoError(t, err)
	require.True(t, settings.Database.IAMAuth)
}

func TestRefusesASecretWithIAM(t *testing.T) {
	t.Parallel()

	_, err := config.ForRelay([]string{
		"DATABASE_SECRET_ARN=arn:aws:secretsmanager:eu-west-1:123456789012:secret:db", "DATABASE_IAM_AUTH=true",
	})

	require.ErrorContains(t, err, "DATABASE_SECRET_ARN contradicts DATABASE_IAM_AUTH=true")
}

func TestReportsEveryProblemAtOnceWithoutSecrets(t *testing.T) {
	t.Parallel()

	wrong := []string{
		"DATABASE_URL=http://user:hunter2@db/app", "DATABASE_SECRET_ARN=hunter2", "DATABASE_CONNECT_TIMEOUT=soon",
		"OUTBOX_TABLE=1", "EVENT_BUS=", "EVENT_ENVELOPE=json", "PUT_EVENTS_MAX_ENTRIES=100", "PUT_EVENTS_TIMEOUT=1m",
		"RELAY_BATCH_SIZE=many", "RELAY_RESERVE=0s", "RELAY_ORDERING=aggregate", "RELAY_LISTEN=true",
		"LOG_LEVEL=loud", "RELAY_BATCHSIZE=1", "DATABASE_PASSWORD=hunter2",
	}

	_, err := config.ForRelay(wrong)

	for _, setting := range wrong {
		key, _, _ := strings.Cut(setting, "=")
		require.ErrorContains(t, err, key+" ")
	}
	require.Equal(t, len(wrong)-1, strings.Count(err.Error(), "; "))
	require.NotContains(t, err.Error(), "hunter2")
}
