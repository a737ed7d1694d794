package eventbridge

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

func TestABadEventIsPoisonAndItsNeighboursAreNot(t *testing.T) {
	t.Parallel()

	at := func(year int) func(*outbox.Event) {
		return func(e *outbox.Event) { e.CreatedAt = time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC) }
	}
	never := func(e *outbox.Event) { e.Timeless = true }
	oversized := func(e *outbox.Event) { e.Oversized, e.TextBytes, e.Payload = true, 3_000_000, "" }
	for _, test := range []struct {
		envelope      Envelope
		change        func(*outbox.Event)
		code, message string
	}{
		{Metadata, oversized, "EventTooLarge", "The event has 3000000 bytes; a request to the bus carries at most 1000000."},
		{Metadata, payload(`"` + strings.Repeat("x", 999_998) + `"`), "EventTooLarge", "at most 1000000"},
		{Metadata, payload(`"` + strings.Repeat("x", 1_000_001) + `"`), "EventTooLarge", "has 1000003 bytes"},
		{Metadata, headers(`{"a":"` + strings.Repeat("x", 1_000_001) + `"}`), "EventTooLarge", "at most 1000000"},

		{Metadata, payload(""), "MalformedDetail", "the payload is NULL or empty"},
		{Metadata, payload("  "), "MalformedDetail", "unexpected end"},
		{Metadata, payload("{\"pin\": \u00a74711}"), "MalformedDetail", "the payload cannot be sent: it is no JSON: unexpected character at byte 8."},
		{Metadata, payload(`{"a":1}{"b":2}`), "MalformedDetail", "unexpected text after the value at byte 7"},
		{Metadata, payload(`1},"injected":{"a":1`), "MalformedDetail", "unexpected text"},
		{Metadata, payload(`{"n":9223372036854775808}`), "MalformedDetail", "an integer does not fit 64 bits at byte 5"},
		{Metadata, payload(nested(1200)), "MalformedDetail", "nested deeper"},
		{Raw, payload(`[1,2]`), "MalformedDetail", "no JSON object"},
		{Raw, payload(`"text"`), "MalformedDetail", "no JSON object"},
		{Raw, payload(`5`), "MalformedDetail", "no JSON object"},
		{Raw, payload(`true`), "MalformedDetail", "no JSON object"},
		{Raw, payload(`null`), "MalformedDetail", "no JSON object"},
		{Raw, payload(``), "MalformedDetail", "NULL or empty"},
		{Metadata, headers(`{"a":`), "MalformedDetail", "the headers cannot be sent: it is no JSON: unexpected end at byte 5."},
		{Metadata, headers(`[1]`), "MalformedDetail", "the headers are no JSON object"},
		{CloudEvents, headers(`"x"`), "MalformedDetail", "the headers are no JSON object"},
		{Raw, headers(`nul`), "MalformedDetail", "the headers cannot be sent"},
		{Metadata, headers(`{"n":-9223372036854775809}`), "MalformedDetail", "64 bits"},

		{Metadata, ofType(""), "InvalidArgument", "Parameter DetailType is not valid. Reason: event_type is empty."},
		{Metadata, ofType(strings.Repeat("x", 129)), "InvalidArgument", "event_type has 129 characters, at most 128 are allowed"},
		{Metadata, ofType(strings.Repeat("ü", 129)), "InvalidArgument", "129 characters"},
		{Metadata, from("aws.orders"), "NotAuthorizedForSourceException", "reserved by AWS"},
		{Metadata, onBus("my bus"), "InvalidArgument", "Parameter EventBusName is not valid."},
		{Metadata, never, "InvalidArgument", "Parameter Time is not valid. Reason: created_at is NULL or no finite time."},
		{Metadata, at(10000), "InvalidArgument", "created_at is in the year 10000"},
		{Metadata, at(-1), "InvalidArgument", "created_at is in the year -1"},
	} {
		p := newPublisher(t, "", Config{Envelope: test.envelope})
		events := []outbox.Event{anEvent(), anEvent(test.change), anEvent()}
		requests, poison := p.Pack(events)
		require.Equal(t, []int{2}, lengths(requests), test.message)
		require.Len(t, poison, 1)
		require.Same(t, &events[1], poison[0].Event)
		require.Equal(t, outbox.Poison, poison[0].Verdict)
		require.Equal(t, test.code, poison[0].Code)
		require.Contains(t, poison[0].Message, test.message)
		require.Less(t, len(poison[0].Message), 300)
	}
}

func TestWhatEventBridgeTakesIsNotRefusedHere(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*outbox.Event){
		payload(`[1,2]`), payload(`"text"`), payload(`5`), payload(`true`), payload(`null`), payload(" {}\n"),
		payload(`{"n":12345678901234567890.0}`), payload(`"\u0000"`), payload(`"\ud800"`),
		ofType(strings.Repeat("x", 128)), ofType(strings.Repeat("🚀", 128)), ofType("a\x00b"), ofType("\xff"),
		from("aws-orders.service"), from("aws"), from("AWS.orders"), from("com.aws.x"), from("a\x00\xff"),
		func(e *outbox.Event) { e.AggregateID = "\xff\xfe" },
	} {
		packed(t, newPublisher(t, "", Config{}), anEvent(change))
		packed(t, newPublisher(t, "", Config{Envelope: CloudEvents}), anEvent(change))
	}
}

func TestAPayloadThatIsNoUTF8IsRefused(t *testing.T) {
	t.Parallel()

	_, poison := newPublisher(t, "", Config{}).Pack([]outbox.Event{anEvent(payload("\"caf\xe9\""))})

	require.Len(t, poison, 1)
	require.Equal(t, "MalformedDetail", poison[0].Code)
	require.Contains(t, poison[0].Message, "no valid UTF-8")
}

func TestNoMessageQuotesThePayload(t *testing.T) {
	t.Parallel()

	p := newPublisher(t, "", Config{Envelope: Raw})
	for _, text := range []string{`{"k":SECRET}`, `{"SECRET":1}x`, `["SECRET"]`, `{"SECRET`, "\"SECRET\n\"", `{"SECRET":99999999999999999999}`} {
		_, poison := p.Pack([]outbox.Event{anEvent(payload(text)), anEvent(headers(text))})
		require.NotEmpty(t, poison)
		for _, outcome := range poison {
			require.NotContains(t, outcome.Message, "SECRET")
			require.NotContains(t, outcome.Message, "9999")
		}
	}
}
