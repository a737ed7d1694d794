package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

func TestClaimsOldestFirst(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, created_at)
		SELECT n, 'order.placed', '{}', now() - n * interval '1 hour' FROM unnest('{5,-7,3,1,0,4,2}'::bigint[]) AS n`)

	batch := claim(t, db.session(t), everything)

	require.Equal(t, []int64{-7, 0, 1, 2, 3, 4, 5}, seqsOf(batch))
	require.Equal(t, 7, batch.Locked)
}

func TestClaimsOnlyRowsThatArePendingAndDue(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, published_at, deliver_after, retry_at) VALUES
		( 1, 'due', '{}', NULL, NULL, NULL),
		( 2, 'no',  '{}', now(), NULL, NULL),
		( 3, 'due', '{}', NULL, now() - interval '1 second', NULL),
		( 4, 'no',  '{}', NULL, now() + interval '1 hour', NULL),
		( 5, 'due', '{}', NULL, NULL, now() - interval '1 second'),
		( 6, 'no',  '{}', NULL, NULL, now() + interval '1 hour'),
		( 7, 'no',  '{}', NULL, now() - interval '1 hour', now() + interval '1 hour'),
		( 8, 'no',  '{}', NULL, now() + interval '1 hour', now() - interval '1 hour'),
		( 9, 'due', '{}', NULL, '-infinity', '-infinity'),
		(10, 'no',  '{}', NULL, 'infinity', NULL),
		(11, 'no',  '{}', NULL, NULL, 'infinity')`)

	require.Equal(t, []int64{1, 3, 5, 9}, seqsOf(claim(t, db.session(t), everything)))
}

func TestClaimsAfterTheFloor(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 5)
	for floor, found := range map[int64][]int64{
		front: upTo(5), 0: upTo(5), 1: {2, 3, 4, 5}, 3: {4, 5}, 4: {5}, 5: {}, 1 << 62: {},
	} {
		asked := everything
		asked.After = floor
		require.Equal(t, found, db.claimSeqs(t, asked), "after %d", floor)
	}
}

func TestClaimsAtMostSoManyRows(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 5)
	asked := everything
	asked.Rows = 3

	batch := claim(t, db.session(t), asked)
	require.Equal(t, upTo(3), seqsOf(batch))
	require.Equal(t, 3, batch.Locked)

	rest := claim(t, db.session(t), asked)
	require.Equal(t, []int64{4, 5}, seqsOf(rest))
	require.Equal(t, 2, rest.Locked)
}

// Each row has 100 bytes of payload, and the third 50 of headers as well.
func TestClaimsAtMostSoManyBytes(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, headers)
		SELECT n, 'order.placed', to_jsonb(repeat('é', 49)), CASE n WHEN 3 THEN to_jsonb(repeat('x', 48)) END
		FROM generate_series(1, 5) AS n`)
	for bytes, returned := range map[int]int64{
		0: 1, 1: 1, 99: 1, 100: 1, 199: 1, 200: 2, 349: 2, 350: 3, 449: 3, 450: 4, 549: 4, 550: 5, 551: 5,
	} {
		asked := everything
		asked.Bytes = bytes
		session := db.session(t)

		batch := claim(t, session, asked)

		require.Equal(t, upTo(returned), seqsOf(batch), "%d bytes", bytes)
		require.Equal(t, 5, batch.Locked, "%d bytes", bytes)
		settle(t, session, outbox.Settlement{})
	}
}

// What is not transferred does not count, wherever it stands.
func TestOversizedEventsComeByTheirLength(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, headers) VALUES
		(1, 'payload',  to_jsonb(repeat('x',  99)), '{}'),
		(2, 'fits',     to_jsonb(repeat('é',  49)), to_jsonb(repeat('y', 98))),
		(3, 'headers',  '{}', to_jsonb(repeat('é', 50))),
		(4, 'fits',     to_jsonb(repeat('x',  98)), NULL),
		(5, 'both',     to_jsonb(repeat('x', 300)), to_jsonb(repeat('y', 300)))`)
	asked := everything
	asked.EventBytes, asked.Bytes = 100, 300

	batch := claim(t, db.session(t), asked)

	require.Equal(t, upTo(5), seqsOf(batch))
	for i, expected := range []struct {
		oversized bool
		bytes     int
	}{{true, 103}, {false, 200}, {true, 104}, {false, 100}, {true, 604}} {
		event := batch.Events[i]
		require.Equal(t, expected.oversized, event.Oversized, event.Type)
		require.Equal(t, expected.bytes, event.TextBytes, event.Type)
		if expected.oversized {
			require.Empty(t, event.Payload+event.Headers, event.Type)
		} else {
			require.Len(t, event.Payload+event.Headers, expected.bytes, event.Type)
		}
	}
}

func TestLeavesOutBusesAndRows(t *testing.T) {
	t.Parallel()

	const arn = "arn:aws:events:eu-west-1:123456789012:event-bus/other"
	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, topic) VALUES
		(1, 'a', '{}', NULL), (2, 'a', '{}', ''), (3, 'a', '{}', 'events'), (4, 'a', '{}', 'other'),
		(5, 'a', '{}', $1), (6, 'a', '{}', 'Events'), (7, 'a', '{}', 'it''s {a,b} "bus" \')`, arn)
	for name, test := range map[string]struct {
		buses  []string
		seqs   []int64
		paused string
		left   []int64
	}{
		"Nothing":            {left: upTo(7)},
		"EmptyLists":         {buses: []string{}, seqs: []int64{}, left: upTo(7)},
		"TheDefaultBus":      {buses: []string{"events"}, left: []int64{4, 5, 6, 7}},
		"TwoBuses":           {buses: []string{"other", arn}, left: []int64{1, 2, 3, 6, 7}},
		"ABusOfAnyName":      {buses: []string{`it's {a,b} "bus" \`}, left: upTo(6)},
		"Rows":               {seqs: []int64{2, 6, 99}, left: []int64{1, 3, 4, 5, 7}},
		"BusesAndRows":       {buses: []string{"events"}, seqs: []int64{4}, left: []int64{5, 6, 7}},
		"APausedBus":         {paused: "'other'", left: []int64{1, 2, 3, 5, 6, 7}},
		"APausedBusByARN":    {paused: "'" + arn + "'", left: []int64{1, 2, 3, 4, 6, 7}},
		"ThePausedDefault":   {paused: "'events'", left: []int64{4, 5, 6, 7}},
		"PausedAndLeftOut":   {paused: "'events'", buses: []string{"other"}, left: []int64{5, 6, 7}},
		"AllPaused":          {paused: "'*'", left: []int64{}},
		"AllAndOnePaused":    {paused: "'*'), ('other'", left: []int64{}},
		"AnUnusedPausedName": {paused: "''), ('default'), ('%'), ('event'", left: upTo(7)},
	} {
		db.Exec(t, "DELETE FROM outbox_paused")
		if test.paused != "" {
			db.Exec(t, "INSERT INTO outbox_paused (topic) VALUES ("+test.paused+")")
		}
		asked := everything
		asked.WithoutBuses, asked.WithoutSeqs = test.buses, test.seqs
		require.Equal(t, test.left, db.claimSeqs(t, asked), name)
	}
}

func TestEveryEventHasABus(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, topic) VALUES
		(1, 'a', '{}', NULL), (2, 'a', '{}', ''), (3, 'a', '{}', 'other'), (4, 'a', '{}', ' ')`)

	var buses []string
	for _, event := range claim(t, db.session(t), everything).Events {
		buses = append(buses, event.Bus)
	}

	require.Equal(t, []string{"events", "events", "other", " "}, buses)
}

func TestColumnsComeAsTheyAre(t *testing.T) {
	t.Parallel()

	const id = "0190163d-8694-739b-aea5-966c26f8ad91"
	number := strings.Repeat("9", 400) + "." + strings.Repeat("0", 20) + "1"
	text := "Zoë \u202e\U0001F980 \t\n'\"\\ \u2028\ufeff"
	payload := fmt.Sprintf(`{"n": %s, "small": 1e-20, "text": "Z\u00eb\ud83e\udd80", "big": 9007199254740993}`, number)
	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, id, aggregate_type, aggregate_id, event_type, payload, headers, source, topic, created_at, attempts)
		VALUES (9223372036854775807, upper($1)::uuid, $2, $2, $2, $3, '{"traceparent": "00-1"}', $2, $2, '2024-02-29 23:59:59.123456+05:30', 2147483647)`,
		id, text, payload)

	batch := claim(t, db.session(t), everything)

	require.Len(t, batch.Events, 1)
	event := batch.Events[0]
	rendered := `{"n": ` + number + `, "big": 9007199254740993, "text": "Zë🦀", "small": 0.00000000000000000001}`
	require.Equal(t, outbox.Event{
		Seq: 9223372036854775807, ID: id, AggregateType: text, AggregateID: text, Type: text,
		Payload: rendered, Headers: `{"traceparent": "00-1"}`, Source: text, Bus: text,
		CreatedAt: time.Date(2024, time.February, 29, 18, 29, 59, 123_456_000, time.UTC),
		Age:       event.Age, Attempts: 2147483647, TextBytes: len(rendered) + len(`{"traceparent": "00-1"}`),
	}, event)
}

func TestAbsentColumnsComeEmpty(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload) VALUES (1, '', 'null')`)
	db.Exec(t, `INSERT INTO outbox (seq, aggregate_type, aggregate_id, event_type, payload, source, topic) VALUES (2, '', '', '', '""', '', '')`)

	batch := claim(t, db.session(t), everything)

	require.Len(t, batch.Events, 2)
	for i, payload := range []string{"null", `""`} {
		event := batch.Events[i]
		require.Equal(t, outbox.Event{
			Seq: int64(i + 1), ID: db.text(t, "SELECT id FROM outbox WHERE seq = $1", i+1), Payload: payload,
			Bus: "events", CreatedAt: event.CreatedAt, Age: event.Age, TextBytes: len(payload),
		}, event)
		require.NotZero(t, event.CreatedAt)
	}
}

// A time that no clock shows is no reason to lose a row, or its neighbours.
func TestAnyTimeOfCreationCanBeClaimed(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	times := []struct {
		sql     string
		instant time.Time
	}{
		{"infinity", time.Time{}},
		{"-infinity", time.Time{}},
		{"4714-11-24 00:00:00+00 BC", time.Date(-4713, time.November, 24, 0, 0, 0, 0, time.UTC)},
		{"0001-01-01 00:00:00+00", time.Time{}},
		{"1969-12-31 23:59:59.999999+00", time.Date(1969, time.December, 31, 23, 59, 59, 999_999_000, time.UTC)},
		{"2000-01-01 00:00:00+00", time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)},
		{"9999-12-31 23:59:59+00", time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)},
		{"290000-01-01 00:00:00+00", time.Date(290000, time.January, 1, 0, 0, 0, 0, time.UTC)},
	}
	for i, created := range times {
		db.Exec(t, "INSERT INTO outbox (seq, event_type, payload, created_at) VALUES ($1, 'a', '{}', $2::text::timestamptz)", i+1, created.sql)
	}

	batch := claim(t, db.session(t), everything)

	require.Len(t, batch.Events, len(times))
	for i, created := range times {
		require.Equal(t, created.instant, batch.Events[i].CreatedAt, created.sql)
		require.Equal(t, strings.Contains(created.sql, "infinity"), batch.Events[i].Timeless, created.sql)
		if batch.Events[i].Timeless {
			require.Zero(t, batch.Events[i].Age, created.sql)
		}
	}
}

// The last instant that a timestamptz holds is beyond 64 bits of microseconds
// since 1970.
func TestTheLastTimeOfCreationIsExact(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, "INSERT INTO outbox (seq, event_type, payload, created_at) VALUES (1, 'a', '{}', '294276-12-31 23:59:59.999999+00')")

	event := claim(t, db.session(t), everything).Events[0]

	require.Equal(t, time.Date(294276, time.December, 31, 23, 59, 59, 999_999_000, time.UTC), event.CreatedAt)
	require.Negative(t, event.Age)
}

// Ours would differ from the database's by some nanoseconds at the least.
func TestTheAgeIsByTheDatabasesClock(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (event_type, payload, created_at) SELECT 'a', '{}', now() + n * interval '1 hour' FROM unnest('{-1,1}'::int[]) AS n`)
	session := db.session(t)
	before := db.clock(t)
	batch := claim(t, session, everything)
	after := db.clock(t)

	require.Len(t, batch.Events, 2)
	for _, event := range batch.Events {
		require.GreaterOrEqual(t, event.Age, before.Sub(event.CreatedAt))
		require.LessOrEqual(t, event.Age, after.Sub(event.CreatedAt))
		require.Zero(t, event.Age%time.Microsecond)
	}
	require.Positive(t, batch.Events[0].Age)
	require.Negative(t, batch.Events[1].Age)
}

// The login's settings are what a role brings along that others use too.
func TestTheSessionsOwnNotationIsOfNoConsequence(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, created_at) VALUES (1, 'Zoë', '{"price": 0.1, "name": "Zoë"}', '2024-07-01 12:00:00.5+00')`)
	for _, setting := range []string{
		"timezone = 'Asia/Tokyo'", "datestyle = 'SQL, DMY'", "intervalstyle = 'sql_standard'", "extra_float_digits = -15",
		"search_path = pg_temp", "standard_conforming_strings = off",
	} {
		db.Exec(t, "ALTER ROLE "+db.login.Name+" SET "+setting)
	}
	session := db.session(t)

	batch := claim(t, session, everything)

	require.Len(t, batch.Events, 1)
	require.Equal(t, "Zoë", batch.Events[0].Type)
	require.JSONEq(t, `{"name": "Zoë", "price": 0.1}`, batch.Events[0].Payload)
	require.Equal(t, time.Date(2024, time.July, 1, 12, 0, 0, 500_000_000, time.UTC), batch.Events[0].CreatedAt)
}

func TestTextIsUTF8WhateverTheRolesEncoding(t *testing.T) {
	t.Parallel()

	for _, encoding := range []string{"LATIN1", "SQL_ASCII", "WIN1252", "EUC_JP"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()

			db := newDatabase(t)
			db.Exec(t, `INSERT INTO outbox (seq, event_type, payload) VALUES (1, 'Zoë', '{"name": "Zoë 🦀"}')`)
			db.Exec(t, "ALTER ROLE "+db.login.Name+" SET client_encoding = '"+encoding+"'")
			session := db.session(t)

			batch := claim(t, session, everything)

			require.Equal(t, "Zoë", batch.Events[0].Type)
			require.JSONEq(t, `{"name": "Zoë 🦀"}`, batch.Events[0].Payload)
			settle(t, session, outbox.Settlement{Failed: []outbox.Failure{{Seq: 1, Code: "MalformedDetail", Message: "Zoë 🦀"}}})
			require.Equal(t, "Zoë 🦀", db.text(t, "SELECT error_message FROM outbox_failed"))
		})
	}
}

// Rows that would take longer to turn into text than a statement may take do not
// stop the relay: a claim reads no more of them than it has room for.
func TestClaimReadsNoMoreTextThanItHasRoomFor(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload)
		SELECT n, 'large', jsonb_build_object('filler', repeat('x', 2000000)) FROM generate_series(1, 40) AS n`)
	asked := everything
	asked.EventBytes, asked.Bytes = 1_000_000, 200_000

	batch := claim(t, db.session(t), asked)

	require.Equal(t, 40, batch.Locked)
	require.NotEmpty(t, batch.Events)
	require.Less(t, len(batch.Events), 10, "the others were not read")
	for _, event := range batch.Events {
		require.True(t, event.Oversized)
	}
}

// The text of a value can be longer than the server can send, for one.
func TestClaimTellsARowThatCannotBeRead(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 3)
	db.Exec(t, `
		ALTER TABLE outbox RENAME TO rows;
		CREATE VIEW outbox AS SELECT seq, id, aggregate_type, aggregate_id, event_type,
			CASE WHEN seq = 2 THEN to_jsonb(1 / (seq - 2)) ELSE payload END AS payload, headers, source, topic,
			created_at, deliver_after, retry_at, attempts, last_error, published_at FROM rows;
		GRANT SELECT, DELETE ON outbox TO outbox_relay;
		GRANT UPDATE (retry_at, attempts, last_error, published_at) ON outbox TO outbox_relay;`)

	_, err := db.session(t).Claim(t.Context(), everything)

	require.ErrorIs(t, err, outbox.ErrUnreadable)
	require.ErrorContains(t, err, "division by zero")
}

// Any column of text can be long.
func TestARowWithEndlessNamesIsOversized(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload, aggregate_id)
		SELECT n, 'named', '{}', repeat('x', 2000000) FROM generate_series(1, 20) AS n`)

	batch := claim(t, db.session(t), everything)

	require.NotEmpty(t, batch.Events)
	for _, event := range batch.Events {
		require.True(t, event.Oversized)
		require.Greater(t, event.TextBytes, 2_000_000)
		require.Len(t, event.AggregateID, 2_000)
	}
}

// Compared one by one, these would take longer than the statement may.
func TestManyPausedBusesCostAClaimLittle(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 10_000)
	db.Exec(t, "INSERT INTO outbox_paused (topic) SELECT 'bus-' || n FROM generate_series(1, 50000) AS n")
	db.Exec(t, "ANALYZE outbox_paused")
	asked := everything
	asked.Rows = 10_000

	require.Len(t, claim(t, db.session(t), asked).Events, 10_000)
}
