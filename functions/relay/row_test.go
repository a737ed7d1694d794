package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/relaytest"
)

// jsonText makes any JSON value that jsonb can hold and that is no number beyond 64
// bits, which EventBridge refuses.
func jsonText() *rapid.Generator[string] {
	scalar := rapid.OneOf(
		rapid.SampledFrom([]string{"null", "true", "false", "{}", "[]", `""`, "0", "-0", "-0.0", "1.10", "1E2", "1e-300"}),
		rapid.Map(rapid.Int64(), asJSON[int64]),
		rapid.Map(rapid.Float64Range(-1e15, 1e15), asJSON[float64]),
		rapid.StringMatching(`-?[1-9][0-9]{0,17}\.[0-9]{1,60}`),
		rapid.Map(rapid.String(), asJSONText),
		rapid.SampledFrom([]string{`"\u0001\u001f\b\f\n\r\t\"\\\/"`, `"\ud83d\ude00"`, `"😀 é e\u0301 \u2028 \ufeff \ufffd"`, `"</script>&amp;"`}),
	)
	return rapid.Deferred(func() *rapid.Generator[string] {
		inner := rapid.OneOf(scalar, scalar, scalar, jsonText())
		member := rapid.Custom(func(t *rapid.T) string {
			return asJSONText(rapid.String().Draw(t, "name")) + ":" + inner.Draw(t, "value")
		})
		return rapid.OneOf(scalar,
			rapid.Map(rapid.SliceOfN(inner, 0, 6), func(values []string) string { return "[" + strings.Join(values, ",") + "]" }),
			rapid.Map(rapid.SliceOfN(member, 0, 6), func(members []string) string { return "{" + strings.Join(members, ",") + "}" }),
		)
	})
}

func asJSON[T any](value T) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// asJSONText leaves out NUL, the one character that jsonb cannot hold.
func asJSONText(text string) string { return asJSON(strings.ReplaceAll(text, "\x00", "")) }

// jsonValues are the same ones in each run of the test.
func jsonValues(n int) []string {
	generator := jsonText()
	values := make([]string, n)
	for seed := range values {
		values[seed] = generator.Example(seed)
	}
	return values
}

// PostgreSQL itself compares what was written with what arrived.
func TestEveryValueArrivesAsTheSameValue(t *testing.T) {
	t.Parallel()

	const sameAs = `
		SELECT count(*) FROM outbox JOIN unnest($1::text[], $2::text[]) AS arrived (id, detail) ON outbox.id::text = arrived.id
		WHERE payload = arrived.detail::jsonb `
	for envelope, test := range map[string]struct{ place, condition string }{
		"metadata": {
			place:     `-> 'data'`,
			condition: ` AND coalesce(headers, '{}') = coalesce(arrived.detail::jsonb #> '{metadata,headers}', '{}')`,
		},
		"cloudevents": {place: `-> 'data'`},
		"raw":         {place: `-> 'value' IS NOT NULL AND payload = arrived.detail::jsonb`},
	} {
		t.Run(envelope, func(t *testing.T) {
			t.Parallel()

			values := jsonValues(300)
			s := relaytest.New(t)
			s.DB.Exec(t, `
				INSERT INTO outbox (event_type, payload, headers)
				SELECT 'Any', CASE WHEN $2 THEN jsonb_build_object('value', value::jsonb) ELSE value::jsonb END,
				       CASE WHEN n % 2 = 0 THEN jsonb_build_object('header', value::jsonb) END
				FROM unnest($1::text[]) WITH ORDINALITY AS given (value, n)`, values, envelope == "raw")

			answer := s.Start(t, relaytest.Settings{"EVENT_ENVELOPE": envelope}).Succeed(t)
			require.Equal(t, len(values), answer.Published, "%v", s.Reasons(t))
			var ids, details []string
			for _, accepted := range s.Bus.Accepted() {
				ids, details = append(ids, accepted.ID), append(details, accepted.Detail)
			}
			require.Equal(t, len(values), postgrestest.Scalar[int](t, s.DB, sameAs+test.place+test.condition, ids, details))
		})
	}
}

// Rows with values that nobody expects, each with what becomes of it: an error code,
// or no reason, that is, it arrives.
func TestAnOddRowArrivesOrSaysWhyItCannot(t *testing.T) {
	t.Parallel()

	const longest = 128
	s := relaytest.New(t)
	odd := []struct{ columns, values, failsWith string }{
		{"created_at", "'infinity'", "InvalidArgument"},
		{"created_at", "'-infinity'", "InvalidArgument"},
		{"created_at", "'0001-01-01 00:00:00+00'", ""},
		{"created_at", "'0044-03-15 12:00:00+00 BC'", "InvalidArgument"},
		{"created_at", "'1677-12-31 23:59:59.999999+00'", ""},
		{"created_at", "'2262-06-01 00:00:00+00'", ""},
		{"created_at", "'9999-12-31 23:59:59.999999+00'", ""},
		{"created_at", "'10000-01-01 00:00:00+00'", "InvalidArgument"},
		{"created_at", "'294276-12-31 23:59:59.999999+00'", "InvalidArgument"},
		{"deliver_after", "'-infinity'", ""},
		{"aggregate_type, aggregate_id, source, topic", "'', '', '', ''", ""},
		{"aggregate_type, aggregate_id", `E'a"b\\c', E'\x01\n\u2028'`, ""},
		{"aggregate_id", "repeat('x', 100000)", ""},
		{"source", `E'com.example/shop "1" \u00e9'`, ""},
		{"source", "'aws.lambda'", "NotAuthorizedForSourceException"},
		{"topic", "'no bus'", "InvalidArgument"},
		{"topic", "repeat('x', 2000)", "InvalidArgument"},
		{"headers", "'{}'", ""},
		{"headers", "'[]'", "MalformedDetail"},
		{"headers", "'null'", ""},
		{"headers", `'{"traceparent":5,"xray_trace_id":["no"]}'`, ""},
		{"seq", "0", ""},
		{"seq", "9223372036854775807", ""},
		{"seq", "-9223372036854775807", ""},
		{"attempts", "2147483647", ""},
	}
	types := []struct{ eventType, failsWith string }{
		{strings.Repeat("é", longest), ""},
		{strings.Repeat("é", longest+1), "InvalidArgument"},
		{"", "InvalidArgument"},
		{`a"b\c` + "\n\u0001😀", ""},
		{" ", ""},
	}
	expected := map[string]string{}
	for _, row := range odd {
		eventType := row.columns + " = " + row.values
		s.DB.Exec(t, "INSERT INTO outbox (event_type, payload, "+row.columns+") VALUES ($1, '{}', "+row.values+")", eventType)
		expected[eventType] = row.failsWith
		s.InsertOf(t, "Good", 1)
	}
	for _, row := range types {
		s.InsertOf(t, row.eventType, 1)
		expected[row.eventType] = row.failsWith
	}

	relay := s.Start(t, nil)
	relay.Succeed(t)
	require.Zero(t, s.Pending(t), "%v", s.IDs(t, "published_at IS NULL"))
	reasons := s.Reasons(t)
	for eventType, failsWith := range expected {
		code, _, _ := strings.Cut(reasons[eventType], ":")
		require.Equal(t, failsWith, code, "%s: %s", eventType, reasons[eventType])
	}
	require.Equal(t, len(odd), s.Count(t, "event_type = 'Good' AND published_at IS NOT NULL"))
	s.RequireDelivered(t)
	s.RequireOnce(t)
}

// Policies hide rows, or keep them from being changed.
func TestServesWhatPoliciesLetItSee(t *testing.T) {
	t.Parallel()

	const enable = `
		ALTER TABLE outbox ENABLE ROW LEVEL SECURITY;
		CREATE POLICY writes ON outbox FOR INSERT WITH CHECK (true);
		CREATE POLICY sees ON outbox FOR SELECT TO outbox_relay USING (aggregate_type <> 'hidden');
		CREATE POLICY locks ON outbox FOR UPDATE TO outbox_relay USING (true)`
	s := relaytest.New(t)
	s.Insert(t, 5)
	s.DB.Exec(t, enable+` WITH CHECK (true)`)
	s.DB.Exec(t, `INSERT INTO outbox (aggregate_type, event_type, payload) VALUES ('hidden', 'Hidden', '{}')`)
	relay := s.Start(t, nil)

	require.Equal(t, 5, relay.Succeed(t).Published)
	require.Equal(t, 1, s.Pending(t), "it has seen what it may not")

	s.Insert(t, 5)
	s.DB.Exec(t, `ALTER POLICY locks ON outbox WITH CHECK (published_at IS NULL)`)
	require.Contains(t, relay.Fail(t), "row-level security")
	s.RequireNoFalseMark(t)
	s.DB.Exec(t, `ALTER TABLE outbox DISABLE ROW LEVEL SECURITY`)
	s.Elapse(t)
	relay.Drain(t, s)
	s.RequireDelivered(t)
}

// What a database, or a login, has as defaults of its sessions.
func TestNoDefaultOfASessionChangesWhatItDoes(t *testing.T) {
	t.Parallel()

	for _, setting := range []string{
		"search_path = ''", "search_path = 'decoy'", "default_transaction_isolation = 'serializable'",
		"default_transaction_isolation = 'repeatable read'", "default_transaction_read_only = on", "row_security = off",
		"standard_conforming_strings = off", "bytea_output = 'escape'", "extra_float_digits = -15", "intervalstyle = 'iso_8601'",
		"client_encoding = 'LATIN1'", "timezone = 'Pacific/Chatham'", "datestyle = 'SQL, DMY'", "session_replication_role = 'origin'",
		"enable_seqscan = off", "enable_indexscan = off", "jit = on", "default_transaction_deferrable = on",
	} {
		name, _, _ := strings.Cut(setting, " ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := relaytest.New(t)
			// Tables and functions that another search path would find first.
			s.DB.Exec(t, `
				CREATE SCHEMA decoy;
				CREATE TABLE decoy.outbox (LIKE public.outbox);
				CREATE FUNCTION decoy.clock_timestamp() RETURNS timestamptz RETURN 'infinity'::timestamptz;
				GRANT USAGE ON SCHEMA decoy TO outbox_relay`)
			s.DB.Exec(t, "ALTER ROLE "+s.Login.Name+" SET "+setting)
			s.Insert(t, 20)

			require.Equal(t, 20, s.Start(t, nil).Succeed(t).Published)
			require.Zero(t, s.Count(t, "published_at > clock_timestamp()"))
			s.RequireDelivered(t)
			s.RequireOnce(t)
		})
	}
}
