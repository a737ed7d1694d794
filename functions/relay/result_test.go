package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/postgrestest"
	"outboxrelay/internal/relaytest"
)

// The bus takes 7 of the first request's 10 entries.
func TestMarksExactlyTheEntriesThatWereAccepted(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 10)
	s.Bus.Script(eventbridgetest.FailEntries("InternalFailure", "try again", eventbridgetest.Index(0, 3, 8)))
	relay := s.Start(t, relaytest.Settings{"RELAY_RETRY_BASE": "5m"})

	first := relay.Succeed(t)
	require.Equal(t, 7, first.Published)
	require.Equal(t, 3, first.Deferred)
	require.Equal(t, 7, s.Published(t))
	refused := s.IDs(t, "published_at IS NULL")
	require.Equal(t, s.IDs(t, "seq IN (1, 4, 9)"), refused)
	require.Equal(t, 3, s.Count(t, "attempts = 1 AND last_error = 'InternalFailure: try again' AND retry_at > now()"))

	s.Elapse(t)
	second := relay.Succeed(t)
	require.Equal(t, 3, second.Published)
	s.RequireDelivered(t)
	s.RequireOnce(t)
	accepted := s.Bus.Accepted()
	for i, id := range refused {
		require.Equal(t, id, accepted[7+i].ID, "they are sent in order")
	}
}

// Three batches of events that the bus never takes are the oldest ones.
func TestPublishesWhatComesAfterAHeadOfPoison(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.InsertOf(t, "Bad", 60)
	s.InsertOf(t, "Good", 100)
	s.Bus.Always(eventbridgetest.FailEntries("MalformedDetail", "Detail is malformed.", eventbridgetest.DetailType("Bad")))
	relay := s.Start(t, relaytest.Settings{"RELAY_BATCH_SIZE": "20"})

	answer := relay.Succeed(t)
	require.Equal(t, 100, answer.Published)
	require.Equal(t, 60, answer.Failed)
	require.InDelta(t, 60, relay.Metric(t, "EventsFailed"), 0)
	s.RequireDelivered(t)
	require.Equal(t, 60, s.DB.QueryInt(t, `
		SELECT count(*) FROM outbox_failed
		WHERE event_type = 'Bad' AND error_code = 'MalformedDetail' AND error_message = 'Detail is malformed.'
		  AND published_at IS NULL`))

	requests := s.Bus.Stats().Requests
	require.Zero(t, relay.Succeed(t).Failed)
	require.Equal(t, requests, s.Bus.Stats().Requests, "what has failed is not sent again")
}

// A trigger raises when event 7 is marked, which aborts the transaction of the
// whole batch after it was accepted.
func TestMarksTheNeighboursOfAnEventThatCannotBeMarked(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 20)
	s.DB.Exec(t, `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'seven is out of the question'; END $$;
		CREATE TRIGGER refuse BEFORE UPDATE ON outbox FOR EACH ROW WHEN (NEW.seq = 7) EXECUTE FUNCTION refuse()`)
	relay := s.Start(t, nil)

	message := relay.Fail(t)
	require.Contains(t, message, "seven is out of the question")
	require.Contains(t, message, "seq 7")
	require.Contains(t, message, "19 published")
	require.Equal(t, s.IDs(t, "seq = 7"), s.IDs(t, "published_at IS NULL"))
	s.RequireOnce(t)

	s.DB.Exec(t, "DROP TRIGGER refuse ON outbox")
	require.Equal(t, 1, relay.Succeed(t).Published)
	s.RequireDelivered(t)
}

// Legal and illegal sources and types, as far as they are easily misjudged.
func TestFailsOnlyWhatTheRulesForSourceAndTypeForbid(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	for _, row := range [][2]string{
		{strings.Repeat("x", 129), "shop"},
		{"ReservedSource", "aws.orders"},
		{"SourceThatBeginsWithTheLetters", "aws-orders.service"},
		{strings.Repeat("x", 128), "shop"},
		{strings.Repeat("語", 128), "shop"},
	} {
		s.DB.Exec(t, `INSERT INTO outbox (event_type, source, payload) VALUES ($1, $2, '{}')`, row[0], row[1])
	}

	answer := s.Start(t, nil).Succeed(t)
	require.Equal(t, 3, answer.Published)
	require.Equal(t, 2, answer.Failed)
	require.Equal(t, 3, s.Bus.Stats().Accepted)
	s.RequireDelivered(t)
	reasons := s.Reasons(t)
	require.Contains(t, reasons[strings.Repeat("x", 129)], "InvalidArgument: Parameter DetailType")
	require.Contains(t, reasons["ReservedSource"], "NotAuthorizedForSourceException: ")
}

// Missing permissions come as an error of each entry, whatever the entry is.
func TestKeepsEveryEventWhileAccessIsDenied(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 30)
	s.Bus.Always(eventbridgetest.FailEntries("AccessDeniedException", "not allowed to put events"))
	relay := s.Start(t, nil)

	for range 5 {
		message := relay.Fail(t)
		require.Contains(t, message, "bus default")
		require.Contains(t, message, "AccessDeniedException")
		require.Equal(t, 30, s.Untouched(t))
	}

	s.Bus.Clear()
	require.Equal(t, 30, relay.Succeed(t).Published)
	s.RequireDelivered(t)
	s.RequireOnce(t)
}

func TestSucceedsWhenOneEntryOfManyIsThrottled(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 100)
	s.Bus.Always(eventbridgetest.FailEntries("ThrottlingException", "Rate exceeded").Times(1))

	relay := s.Start(t, relaytest.Settings{"RELAY_RETRY_BASE": "5m"})
	answer := relay.Succeed(t)
	require.Equal(t, 99, answer.Published)
	require.Equal(t, 1, answer.Deferred)
	require.InDelta(t, 1, relay.Metric(t, "EventsDeferred"), 0)
}

func TestSucceedsAndCountsWhenEveryEntryIsRefusedForGood(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 25)
	s.Bus.Always(eventbridgetest.FailEntries("InvalidArgument", "Parameter Detail is not valid."))

	relay := s.Start(t, nil)
	answer := relay.Succeed(t)
	require.Zero(t, answer.Published)
	require.Equal(t, 25, answer.Failed)
	require.InDelta(t, 25, relay.Metric(t, "EventsFailed"), 0)
	require.Equal(t, 25, s.DB.QueryInt(t, "SELECT count(*) FROM outbox_failed"))
}

// A code that nobody knows is tried again, but not for ever.
func TestFailsAnEntryAfterSoManyUnknownErrors(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.InsertOf(t, "Odd", 1)
	s.Bus.Always(eventbridgetest.FailEntries("SomethingNew", "not seen before"))
	relay := s.Start(t, relaytest.Settings{"RELAY_MAX_ATTEMPTS": "3", "RELAY_RETRY_BASE": "5m"})

	for attempt := 1; attempt <= 2; attempt++ {
		require.Equal(t, 1, relay.Succeed(t).Deferred)
		require.Equal(t, attempt, postgrestest.Scalar[int](t, s.DB, "SELECT attempts FROM outbox"))
		s.Elapse(t)
	}
	require.Equal(t, 1, relay.Succeed(t).Failed)
	require.Equal(t, map[string]string{"Odd": "SomethingNew: not seen before"}, s.Reasons(t))
}

func TestDeletesWhatIsPublishedWhereToldTo(t *testing.T) {
	t.Parallel()

	s := relaytest.New(t)
	s.Insert(t, 20)

	require.Equal(t, 20, s.Start(t, relaytest.Settings{"RELAY_ON_PUBLISHED": "delete"}).Succeed(t).Published)
	require.Zero(t, s.Count(t, "true"))
	require.Len(t, s.Bus.AcceptedIDs(), 20)
	s.RequireOnce(t)
}
