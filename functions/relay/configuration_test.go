package main

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/relaytest"
	"outboxrelay/internal/secretstest"
)

func TestNamesEveryWrongSettingAtOnce(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 3)
	relay := s.Start(t, relaytest.Settings{
		"DATABASE_URL":        "mysql://relay:" + marker + "@127.0.0.1/shop",
		"DATABASE_SECRET_ARN": marker,
		"OUTBOX_TABLE":        "a.b.c",
		"EVENT_BUS":           "no bus",
		"EVENT_ENVELOPE":      "xml",
		"EVENT_BUS_CHECK":     "perhaps",
		"PUT_EVENTS_TIMEOUT":  "5",
		"RELAY_BATCH_SIZE":    "many",
		"RELAY_RESERVE":       "0s",
		"RELAY_BATCHSIZE":     "10",
		"LOG_LEVEL":           "loud",
	})

	for range 2 { // a sandbox that could not be built stays of use
		message := relay.Fail(t)
		for _, key := range []string{
			"DATABASE_URL", "DATABASE_SECRET_ARN", "OUTBOX_TABLE", "EVENT_BUS", "EVENT_ENVELOPE", "EVENT_BUS_CHECK",
			"PUT_EVENTS_TIMEOUT", "RELAY_BATCH_SIZE", "RELAY_RESERVE", "RELAY_BATCHSIZE", "LOG_LEVEL",
		} {
			require.Contains(t, message, key+" ")
		}
		require.NotContains(t, message, marker)
	}
	require.Zero(t, s.Bus.Stats().Requests)
	require.Equal(t, 3, s.Untouched(t))
}

// An empty name is no wish for the default bus.
func TestRefusesAnEmptyBus(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 3)
	relay := s.Start(t, relaytest.Settings{"EVENT_BUS": ""})

	require.Contains(t, relay.Fail(t), "EVENT_BUS ")
	require.Zero(t, s.Bus.Stats().Requests)
	require.Equal(t, 3, s.Untouched(t))
}

func TestSaysThatThereIsNoTimeForAnyWork(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 3)
	relay := s.Start(t, relaytest.Settings{"RELAY_RESERVE": "25s"})

	message := relay.Fail(t)
	require.Contains(t, message, "RELAY_RESERVE")
	require.Contains(t, message, "PUT_EVENTS_TIMEOUT")
	require.Equal(t, 3, s.Untouched(t))
}

// The database grants less than the role outbox_relay has.
func TestSaysWhichRoleIsMissing(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	relay := s.Start(t, relaytest.Settings{"DATABASE_URL": s.DB.CreateLogin(t).URL})

	require.Contains(t, relay.Fail(t), "give the user the role outbox_relay")
}

func TestServesATableOfAnyName(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 10)
	s.DB.Exec(t, `
		CREATE SCHEMA "Shop";
		GRANT USAGE ON SCHEMA "Shop" TO outbox_relay;
		ALTER TABLE outbox SET SCHEMA "Shop";
		ALTER TABLE outbox_failed SET SCHEMA "Shop";
		ALTER TABLE outbox_paused SET SCHEMA "Shop";
		ALTER TABLE "Shop".outbox RENAME TO "My Events";
		ALTER TABLE "Shop".outbox_failed RENAME TO "My Events_failed";
		ALTER TABLE "Shop".outbox_paused RENAME TO "My Events_paused"`)
	relay := s.Start(t, relaytest.Settings{"OUTBOX_TABLE": `"Shop"."My Events"`, "OUTBOX_NAME": "shop"})

	require.Equal(t, 10, relay.Succeed(t).Published)
	require.Equal(t, 10, s.DB.QueryInt(t, `SELECT count(*) FROM "Shop"."My Events" WHERE published_at IS NOT NULL`))
	require.Equal(t, "shop", relay.Metric(t, "Outbox"))
	s.RequireOnce(t)
}

func TestTakesTheDefaultsOfARowFromTheSettings(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t, eventbridgetest.WithBuses("orders", "invoices"))
	s.InsertOf(t, "Plain", 1)
	s.DB.Exec(t, `INSERT INTO outbox (event_type, payload, source, topic) VALUES ('Own', '{}', 'billing', 'invoices')`)
	relay := s.Start(t, relaytest.Settings{"EVENT_BUS": "orders", "EVENT_SOURCE": "shop"})

	require.Equal(t, 2, relay.Succeed(t).Published)
	for _, accepted := range s.Bus.Accepted() {
		if accepted.DetailType == "Own" {
			require.Equal(t, "invoices from billing", accepted.Bus+" from "+accepted.Source)
		} else {
			require.Equal(t, "orders from shop", accepted.Bus+" from "+accepted.Source)
		}
	}
}

func TestConnectsByTheVariablesOfLibpq(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 10)
	relay := s.Start(t, relaytest.Settings{
		"DATABASE_URL": relaytest.Unset,
		"PGHOST":       "127.0.0.1",
		"PGPORT":       strconv.Itoa(s.DB.Server.Port()),
		"PGDATABASE":   s.DB.Name,
		"PGUSER":       s.Login.Name,
		"PGPASSWORD":   s.Login.Password,
		"PGSSLMODE":    "disable",
	})

	require.Equal(t, 10, relay.Succeed(t).Published)
	s.RequireDelivered(t)
}

// Nothing is said about TLS, and the server has none.
func TestNeverFallsBackToPlaintext(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 3)
	address, err := url.Parse(s.Login.URL)
	require.NoError(t, err)
	address.RawQuery = ""
	relay := s.Start(t, relaytest.Settings{"DATABASE_URL": address.String()})

	require.Contains(t, relay.Fail(t), "turn on TLS on the server, or say sslmode=disable")
	require.Equal(t, 3, s.Untouched(t))
}

func TestConnectsByASecretThatIsReadOnce(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	secrets := secretstest.New(t)
	secrets.Set(relaytest.SecretARN, s.Secret(t, s.Login.Name, s.Login.Password))
	secrets.Script(secretstest.Repeat(2, secretstest.Throttle())...)
	relay := s.Start(t, relaytest.BySecret(secrets.URL()))

	for range 20 {
		s.Insert(t, 2)
		require.Equal(t, 2, relay.Succeed(t).Published)
	}
	require.Equal(t, 3, secrets.CallCount(), "two were throttled")
	s.RequireDelivered(t)
}

// The database has the new password at once, the secret only two runs later.
func TestRecoversWhenTheSecretIsRotated(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	secrets := secretstest.New(t)
	secrets.Set(relaytest.SecretARN, s.Secret(t, s.Login.Name, s.Login.Password))
	relay := s.Start(t, relaytest.BySecret(secrets.URL()))
	s.Insert(t, 10)
	require.Equal(t, 10, relay.Succeed(t).Published)
	pid, err := relay.PID()
	require.NoError(t, err)

	s.Insert(t, 10)
	s.DB.Exec(t, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", s.Login.Name, marker))
	for range 2 {
		message := relay.Fail(t)
		require.Contains(t, message, "still holds this login")
		require.NotContains(t, message, s.Login.Password)
	}

	secrets.Set(relaytest.SecretARN, s.Secret(t, s.Login.Name, marker))
	require.Equal(t, 10, relay.Succeed(t).Published)
	s.RequireDelivered(t)
	again, err := relay.PID()
	require.NoError(t, err)
	require.Equal(t, pid, again, "it took a new sandbox")
}

// A token is a password for 15 minutes: it is sent to nobody in the clear, and
// nothing else is sent in its place.
func TestLogsInByTokenOnlyWithTLS(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	relay := s.Start(t, relaytest.Settings{"DATABASE_IAM_AUTH": "true"}) // beside a URL with a password and sslmode=disable

	message := relay.Fail(t)
	require.Contains(t, message, "DATABASE_IAM_AUTH is true, but there is a password: take it out of DATABASE_URL")
	require.Contains(t, message, "the connection has no TLS")
	require.NotContains(t, message, s.Login.Password)
}
