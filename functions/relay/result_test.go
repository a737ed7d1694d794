package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/postgrestest"
)

// The bus takes 7 of the first request's 10 entries.
func TestMarksExactlyTheEntriesThatWereAccepted(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 10)
	s.bus.Script(eventbridgetest.FailEntries("InternalFailure", "try again", eventbridgetest.Index(0, 3, 8)))
	relay := s.start(t, settings{"RELAY_RETRY_BASE": "5m"})

	first := relay.succeed(t)
	require.Equal(t, 7, first.Published)
	require.Equal(t, 3, first.Deferred)
	require.Equal(t, 7, s.published(t))
	refused := s.ids(t, "published_at IS NULL")
	require.Equal(t, s.ids(t, "seq IN (1, 4, 9)"), refused)
	require.Equal(t, 3, s.count(t, "attempts = 1 AND last_error = 'InternalFailure: try again' AND retry_at > now()"))

	s.elapse(t)
	second := relay.succeed(t)
	require.Equal(t, 3, second.Published)
	s.requireDelivered(t)
	s.requireOnce(t)
	accepted := s.bus.Accepted()
	for i, id := range refused {
		require.Equal(t, id, accepted[7+i].ID, "they are sent in order")
	}
}

// Three batches of events that the bus never takes are the oldest ones.
func TestPublishesWhatComesAfterAHeadOfPoison(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insertOf(t, "Bad", 60)
	s.insertOf(t, "Good", 100)
	s.bus.Always(eventbridgetest.FailEntries("MalformedDetail", "Detail is malformed.", eventbridgetest.DetailType("Bad")))
	relay := s.start(t, settings{"RELAY_BATCH_SIZE": "20"})

	answer := relay.succeed(t)
	require.Equal(t, 100, answer.Published)
	require.Equal(t, 60, answer.Failed)
	require.InDelta(t, 60, relay.metric(t, "EventsFailed"), 0)
	s.requireDelivered(t)
	require.Equal(t, 60, s.db.QueryInt(t, `
		SELECT count(*) FROM outbox_failed
		WHERE event_type = 'Bad' AND error_code = 'MalformedDetail' AND error_message = 'Detail is malformed.'
		  AND published_at IS NULL`))

	requests := s.bus.Stats().Requests
	require.Zero(t, relay.succeed(t).Failed)
	require.Equal(t, requests, s.bus.Stats().Requests, "what has failed is not sent again")
}

// A trigger raises when event 7 is marked, which aborts the transaction of the
// whole batch after it was accepted.
func TestMarksTheNeighboursOfAnEventThatCannotBeMarked(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 20)
	s.db.Exec(t, `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'seven is out of the question'; END $$;
		CREATE TRIGGER refuse BEFORE UPDATE ON outbox FOR EACH ROW WHEN (NEW.seq = 7) EXECUTE FUNCTION refuse()`)
	relay := s.start(t, nil)

	message := relay.fail(t)
	require.Contains(t, message, "seven is out of the question")
	require.Contains(t, message, "seq 7")
	require.Contains(t, message, "19 published")
	require.Equal(t, s.ids(t, "seq = 7"), s.ids(t, "published_at IS NULL"))
	s.requireOnce(t)

	s.db.Exec(t, "DROP TRIGGER refuse ON outbox")
	require.Equal(t, 1, relay.succeed(t).Published)
	s.requireDelivered(t)
}

// Legal and illegal sources and types, as far as they are easily misjudged.
func TestFailsOnlyWhatTheRulesForSourceAndTypeForbid(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	for _, row := range [][2]string{
		{strings.Repeat("x", 129), "shop"},
		{"ReservedSource", "aws.orders"},
		{"SourceThatBeginsWithTheLetters", "aws-orders.service"},
		{strings.Repeat("x", 128), "shop"},
		{strings.Repeat("語", 128), "shop"},
	} {
		s.db.Exec(t, `INSERT INTO outbox (event_type, source, payload) VALUES ($1, $2, '{}')`, row[0], row[1])
	}

	answer := s.start(t, nil).succeed(t)
	require.Equal(t, 3, answer.Published)
	require.Equal(t, 2, answer.Failed)
	require.Equal(t, 3, s.bus.Stats().Accepted)
	s.requireDelivered(t)
	reasons := s.reasons(t)
	require.Contains(t, reasons[strings.Repeat("x", 129)], "InvalidArgument: Parameter DetailType")
	require.Contains(t, reasons["ReservedSource"], "NotAuthorizedForSourceException: ")
}

// Missing permissions come as an error of each entry, whatever the entry is.
func TestKeepsEveryEventWhileAccessIsDenied(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 30)
	s.bus.Always(eventbridgetest.FailEntries("AccessDeniedException", "not allowed to put events"))
	relay := s.start(t, nil)

	for range 5 {
		message := relay.fail(t)
		require.Contains(t, message, "bus default")
		require.Contains(t, message, "AccessDeniedException")
		require.Equal(t, 30, s.untouched(t))
	}

	s.bus.Clear()
	require.Equal(t, 30, relay.succeed(t).Published)
	s.requireDelivered(t)
	s.requireOnce(t)
}

func TestSucceedsWhenOneEntryOfManyIsThrottled(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 100)
	s.bus.Always(eventbridgetest.FailEntries("ThrottlingException", "Rate exceeded").Times(1))

	relay := s.start(t, settings{"RELAY_RETRY_BASE": "5m"})
	answer := relay.succeed(t)
	require.Equal(t, 99, answer.Published)
	require.Equal(t, 1, answer.Deferred)
	require.InDelta(t, 1, relay.metric(t, "EventsDeferred"), 0)
}

func TestSucceedsAndCountsWhenEveryEntryIsRefusedForGood(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 25)
	s.bus.Always(eventbridgetest.FailEntries("InvalidArgument", "Parameter Detail is not valid."))

	relay := s.start(t, nil)
	answer := relay.succeed(t)
	require.Zero(t, answer.Published)
	require.Equal(t, 25, answer.Failed)
	require.InDelta(t, 25, relay.metric(t, "EventsFailed"), 0)
	require.Equal(t, 25, s.db.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
}

// A code that nobody knows is tried again, but not for ever.
func TestFailsAnEntryAfterSoManyUnknownErrors(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insertOf(t, "Odd", 1)
	s.bus.Always(eventbridgetest.FailEntries("SomethingNew", "not seen before"))
	relay := s.start(t, settings{"RELAY_MAX_ATTEMPTS": "3", "RELAY_RETRY_BASE": "5m"})

	for attempt := 1; attempt <= 2; attempt++ {
		require.Equal(t, 1, relay.succeed(t).Deferred)
		require.Equal(t, attempt, postgrestest.Scalar[int](t, s.db, "SELECT attempts FROM outbox"))
		s.elapse(t)
	}
	require.Equal(t, 1, relay.succeed(t).Failed)
	require.Equal(t, map[string]string{"Odd": "SomethingNew: not seen before"}, s.reasons(t))
}

func TestDeletesWhatIsPublishedWhereToldTo(t *testing.T) {
	t.Parallel()

	s := newScene(t)
	s.insert(t, 20)

	require.Equal(t, 20, s.start(t, settings{"RELAY_ON_PUBLISHED": "delete"}).succeed(t).Published)
	require.Zero(t, s.count(t, "true"))
	require.Len(t, s.bus.AcceptedIDs(), 20)
	s.requireOnce(t)
}
