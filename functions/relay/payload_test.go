package main

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/relaytest"
)

// ownTable turns the outbox into an application's own table, with a payload of
// text that may be anything, under a view with the names of the contract.
const ownTable = `
	ALTER TABLE outbox RENAME TO events;
	ALTER TABLE events RENAME payload TO body;
	ALTER TABLE events ALTER body TYPE text, ALTER body DROP NOT NULL;
	ALTER TABLE outbox_failed ALTER payload TYPE text, ALTER payload DROP NOT NULL;
	CREATE VIEW outbox AS
		SELECT seq, id, aggregate_type, aggregate_id, event_type, body AS payload, headers, source, topic,
		       created_at, deliver_after, retry_at, attempts, last_error, published_at
		FROM events;
	REVOKE ALL ON events FROM outbox_relay;
	GRANT SELECT, DELETE ON outbox TO outbox_relay;
	GRANT UPDATE (retry_at, attempts, last_error, published_at) ON outbox TO outbox_relay`

// payloads are what applications write, by event type; nil: SQL NULL.
var payloads = map[string]*string{
	"Array":       new(`[1,2]`),
	"String":      new(`"text"`),
	"Number":      new(`5`),
	"True":        new(`true`),
	"Null":        new(`null`),
	"Object":      new(`{"a":1}`),
	"SQLNull":     nil,
	"Empty":       new(``),
	"InvalidJSON": new(`{"a":`),
}

// Rows of every kind, each between good ones.
func TestAFlawedPayloadHarmsNoOtherEvent(t *testing.T) {
	t.Parallel()

	for envelope, good := range map[string][]string{
		"metadata":    {"Array", "Null", "Number", "Object", "String", "True"}, // whatever is JSON
		"cloudevents": {"Array", "Null", "Number", "Object", "String", "True"},
		"raw":         {"Object"},
	} {
		t.Run(envelope, func(t *testing.T) {
			t.Parallel()

			s := relaytest.New(t)
			s.DB.Exec(t, ownTable)
			for _, eventType := range slices.Sorted(maps.Keys(payloads)) {
				s.InsertOf(t, "Good", 1)
				s.DB.Exec(t, `INSERT INTO outbox (event_type, payload) VALUES ($1, $2)`, eventType, payloads[eventType])
			}
			s.InsertOf(t, "Good", 1)

			answer := s.Start(t, relaytest.Settings{"EVENT_ENVELOPE": envelope}).Succeed(t)
			neighbours := len(payloads) + 1
			require.Equal(t, neighbours+len(good), answer.Published)
			require.Equal(t, len(payloads)-len(good), answer.Failed)
			s.RequireDelivered(t)
			s.RequireOnce(t)
			reasons := s.Reasons(t)
			for eventType := range payloads {
				if slices.Contains(good, eventType) {
					require.NotContains(t, reasons, eventType)
				} else {
					require.Contains(t, reasons[eventType], "MalformedDetail: Detail is malformed. Reason: the payload ")
				}
			}
			for _, accepted := range s.Bus.Accepted() {
				if payload := payloads[accepted.DetailType]; payload != nil {
					require.Contains(t, accepted.Detail, *payload)
				}
			}
		})
	}
}

// Integers beyond 2^53 and forms that a decoder would change. (One beyond 64
// bits is against AWS's rules: see below.)
func TestSendsNumbersAsTheyAreWritten(t *testing.T) {
	t.Parallel()

	const payload = `{"a":9007199254740993,"b":1.10,"c":1E2,"d":0.1000000000000000055,"e":-9223372036854775808,"f":1e-7}`
	for column, change := range map[string]string{
		"jsonb": "",
		"json":  "ALTER TABLE outbox ALTER payload TYPE json; ALTER TABLE outbox_failed ALTER payload TYPE json",
		"text":  ownTable,
	} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()

			s := relaytest.New(t)
			if change != "" {
				s.DB.Exec(t, change)
			}
			s.DB.Exec(t, `INSERT INTO outbox (event_type, payload) VALUES ('Numbers', '`+payload+`')`)
			written := postgrestest.Scalar[string](t, s.DB, "SELECT payload::text FROM outbox")
			if column != "jsonb" {
				require.Equal(t, payload, written)
			}

			require.Equal(t, 1, s.Start(t, nil).Succeed(t).Published)
			var detail struct{ Data json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(s.Bus.Accepted()[0].Detail), &detail))
			require.Equal(t, written, string(detail.Data))
		})
	}
}

// PostgreSQL has no objection to either.
func TestFailsNumbersBeyond64BitsAndDeepNesting(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	for eventType, payload := range map[string]string{
		"LargeInteger": `{"n":9223372036854775808}`,
		"LargerStill":  `{"n":12345678901234567890}`,
		"Nested":       nested(1200),
	} {
		s.InsertOf(t, "Good", 5)
		s.DB.Exec(t, `INSERT INTO outbox (event_type, payload) VALUES ($1, $2::text::jsonb)`, eventType, payload)
	}
	s.InsertOf(t, "Good", 5)

	answer := s.Start(t, nil).Succeed(t)
	require.Equal(t, 20, answer.Published)
	require.Equal(t, 3, answer.Failed)
	s.RequireDelivered(t)
	s.RequireOnce(t)
	reasons := s.Reasons(t)
	for _, eventType := range []string{"LargeInteger", "LargerStill", "Nested"} {
		require.Contains(t, reasons[eventType], "MalformedDetail: ")
	}
}

// A time without a zone means something else to everyone.
func TestRefusesTimesWithoutZone(t *testing.T) {
	t.Parallel()

	for _, zone := range []string{"Asia/Tokyo", "America/New_York"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()

			s := relaytest.New(t)
			s.DB.Exec(t, "ALTER TABLE outbox ALTER created_at TYPE timestamp")
			s.DB.Exec(t, "ALTER ROLE "+s.Login.Name+" SET timezone = '"+zone+"'")
			s.Insert(t, 3)

			message := s.Start(t, nil).Fail(t)
			require.Contains(t, message, "created_at must be of type timestamptz")
			require.Equal(t, 3, s.Untouched(t))
			require.Zero(t, s.Bus.Stats().Requests)
		})
	}
}

// The session's zone and date style change nothing about what is sent.
func TestSendsTimesInUTCWhateverTheSessionsZone(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.DB.Exec(t, "ALTER ROLE "+s.Login.Name+" SET timezone = 'Asia/Tokyo'; ALTER ROLE "+s.Login.Name+" SET datestyle = 'German'")
	s.DB.Exec(t, `INSERT INTO outbox (event_type, payload, created_at) VALUES ('Dated', '{}', '2026-03-01 12:00:00.123456+02')`)

	require.Equal(t, 1, s.Start(t, nil).Succeed(t).Published)
	accepted := s.Bus.Accepted()[0]
	require.Contains(t, accepted.Detail, `"occurred_at":"2026-03-01T10:00:00.123456Z"`)
	require.Equal(t, "2026-03-01T10:00:00Z", accepted.Time.Format("2006-01-02T15:04:05Z07:00"))
}
