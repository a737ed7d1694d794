package eventbridge

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/outbox"
)

func TestSendDeliversEntriesAsPacked(t *testing.T) {
	t.Parallel()
	for _, envelope := range []Envelope{Metadata, CloudEvents, Raw} {
		p, server := standIn(t, Config{Envelope: envelope, DefaultSource: "shop"})
		text := `{"id":"own","n":[9007199254740993,1.10,1E2],"s":"\"\\\u2028é🚀"}`
		request := packed(t, p, anEvent(payload(text), headers(`{"xray_trace_id":"Root=1-2"}`)))
		outcomes, err := p.Send(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, []outbox.Outcome{{Event: request.Entries[0].Event, Verdict: outbox.Accepted}}, outcomes)
		accepted := server.Accepted()
		require.Len(t, accepted, 1)
		entry := accepted[0].Entry
		require.Equal(t, testID, entry.ID)
		require.Equal(t, "orders", entry.Bus)
		require.Equal(t, "shop", entry.Source)
		require.Equal(t, "OrderPlaced", entry.DetailType)
		require.Equal(t, created.Truncate(time.Millisecond), entry.Time)
		require.Equal(t, "Root=1-2", entry.TraceHeader)
		require.Equal(t, request.Entries[0].Detail, entry.Detail)
		require.Contains(t, entry.Detail, text)
		require.Equal(t, request.Entries[0].Size, entry.Size)
		require.Equal(t, envelope.resources(request.Entries[0].Event), entry.Resources)
	}
}

func TestSendGivesTheSameEventTheSameFormEveryTime(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{})
	server.Script(eventbridgetest.Repeat(3, eventbridgetest.AcceptThenDrop())...)
	for range 3 {
		_, err := p.Send(t.Context(), packed(t, p, anEvent()))
		require.Equal(t, codeUnreachable, requireFault(t, err, outbox.Unavailable).Code)
	}

	_, err := p.Send(t.Context(), packed(t, p, anEvent()))
	require.NoError(t, err)

	copies := server.AcceptedByID()[testID]
	require.Len(t, copies, 4)
	for _, accepted := range copies {
		require.Equal(t, copies[0].Entry, accepted.Entry)
	}
}

func TestSendOfNothingIsNoCall(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{})

	outcomes, err := p.Send(t.Context(), outbox.Request{Bus: "orders"})
	require.NoError(t, err)
	require.Empty(t, outcomes)
	require.Empty(t, server.Requests())
}

func TestSendLeavesOutATimeThatTheSDKWouldFalsify(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{})
	for _, year := range []int{1, 1677, 1678, 2026, 2261, 2262, 9999} {
		at := time.Date(year, 6, 1, 12, 0, 0, 0, time.UTC)
		_, err := p.Send(t.Context(), packed(t, p, anEvent(func(e *outbox.Event) { e.CreatedAt = at })))
		require.NoError(t, err)
		accepted := server.Accepted()
		if sent := accepted[len(accepted)-1].Time; !sent.IsZero() {
			require.Equal(t, at, sent)
		} else {
			require.True(t, year < 1678 || year > 2261, year)
		}
	}
}

func TestSendPairsEachResultWithItsEvent(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{})
	server.Script(eventbridgetest.FailEntries("InternalFailure", "try again", eventbridgetest.Index(1, 4, 9)))

	events := someEvents(10)
	outcomes, err := p.Send(t.Context(), packed(t, p, events...))
	require.NoError(t, err)
	require.Len(t, outcomes, 10)
	for i, outcome := range outcomes {
		require.Same(t, &events[i], outcome.Event)
		want := outbox.Outcome{Event: &events[i], Verdict: outbox.Accepted}
		if i == 1 || i == 4 || i == 9 {
			want = outbox.Outcome{Event: &events[i], Verdict: outbox.Transient, Code: "InternalFailure", Message: "try again"}
		}

		require.Equal(t, want, outcome)
	}

	require.Len(t, server.AcceptedIDs(), 7)
}

func TestEveryEntryCodeHasItsVerdict(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]outbox.Verdict{
		"InternalFailure":                     outbox.Transient,
		"ThrottlingException":                 outbox.Transient,
		"AccessDeniedException":               outbox.Denied,
		"InvalidAccountIdException":           outbox.Denied,
		"NotAuthorizedForDetailTypeException": outbox.Denied,
		"RedactionFailure":                    outbox.Denied,
		"MalformedDetail":                     outbox.Poison,
		"InvalidArgument":                     outbox.Poison,
		"NotAuthorizedForSourceException":     outbox.Poison,
		"SomethingNew":                        outbox.Unknown,
		"internalfailure":                     outbox.Unknown,
	} {
		p, server := standIn(t, Config{})
		server.Always(eventbridgetest.FailEntries(code, "why", eventbridgetest.Index(1)))
		outcomes, err := p.Send(t.Context(), packed(t, p, someEvents(2)...))
		require.NoError(t, err)
		require.Equal(t, []outbox.Verdict{outbox.Accepted, want}, verdicts(outcomes), code)
		require.Equal(t, code, outcomes[1].Code)
		require.Equal(t, "why", outcomes[1].Message)
	}
}

func TestOnlyAnEventIDWithoutAnErrorIsAcceptance(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]outbox.Outcome{
		`{"EventId":"e"}`:                   {Verdict: outbox.Accepted},
		`{"EventId":"e","ErrorCode":null}`:  {Verdict: outbox.Accepted},
		`{"EventId":"e","New":{"a":[1]}}`:   {Verdict: outbox.Accepted},
		`{"EventId":"e","ErrorCode":"Odd"}`: {Verdict: outbox.Unknown, Code: "Odd"},
		`{"ErrorCode":"a\u0000b"}`:          {Verdict: outbox.Unknown, Code: "ab"},
		`{"EventId":""}`:                    {Verdict: outbox.Transient, Code: "MissingResult"},
		`{"EventId":null,"ErrorCode":""}`:   {Verdict: outbox.Transient, Code: "MissingResult"},
		`{"ErrorMessage":"only a message"}`: {Verdict: outbox.Transient, Code: "MissingResult"},
		`{}`:                                {Verdict: outbox.Transient, Code: "MissingResult"},
		`{"eventid":"e","event_id":"e"}`:    {Verdict: outbox.Transient, Code: "MissingResult"},
	} {
		p := newPublisher(t, answering(t, http.StatusOK, `{"FailedEntryCount":0,"Entries":[`+entry+`]}`), Config{})
		outcomes, err := p.Send(t.Context(), packed(t, p, anEvent()))
		require.NoError(t, err, entry)
		require.Equal(t, want.Verdict, outcomes[0].Verdict, entry)
		require.Equal(t, want.Code, outcomes[0].Code, entry)
	}
}

func TestAReplyThatCannotBePairedAcceptsNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, `{}`, `[]`, `null`, `true`, `<html>`, `{"Entries":null}`, `{"Entries":[]}`, `{"Entries":{}}`, `{"FailedEntryCount":0}`,
		`{"Entries":[{"EventId":"a"}]}`, `{"Entries":[{"EventId":"a"},{"EventId":"b"},{"EventId":"c"}]}`,
		`{"Entries":[{"EventId":"a"},{"EventId":"b"`, `{"Entries":[{"EventId":"a"},{"EventId":"b"}`,
		`{"Entries":[{"EventId":"a"},{"EventId":7}]}`, `{"Entries":[{"EventId":"a"},"b"]}`, `{"Entries":"ab"}`,
	} {
		p := newPublisher(t, answering(t, http.StatusOK, body), Config{})
		outcomes, err := p.Send(t.Context(), packed(t, p, someEvents(2)...))
		require.Empty(t, outcomes, body)
		require.Equal(t, codeUnreadable, requireFault(t, err, outbox.Unavailable).Code, body)
	}
}

func TestABrokenReplyIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, fault := range []eventbridgetest.Fault{
		eventbridgetest.EmptyBody(), eventbridgetest.GarbageBody(), eventbridgetest.HalfBody(), eventbridgetest.BreakMidBody(),
		eventbridgetest.EntryCount(1), eventbridgetest.EntryCount(3), eventbridgetest.Drop(), eventbridgetest.AcceptThenDrop(),
	} {
		p, server := standIn(t, Config{})
		server.Script(fault)
		_, err := p.Send(t.Context(), packed(t, p, someEvents(2)...))
		failed := requireFault(t, err, outbox.Unavailable)
		require.NotContains(t, failed.Message, "total")
		require.Len(t, server.Requests(), 1, "one attempt")
	}
}

func TestASilentBusCostsOneTimeout(t *testing.T) {
	t.Parallel()
	for _, fault := range []eventbridgetest.Fault{eventbridgetest.Hang(), eventbridgetest.HangMidBody()} {
		p, server := standIn(t, Config{Timeout: 50 * time.Millisecond})
		server.Script(fault)
		_, err := p.Send(t.Context(), packed(t, p, anEvent()))
		failed := requireFault(t, err, outbox.Unavailable)
		require.Equal(t, codeTimeout, failed.Code)
		require.Contains(t, failed.Message, strings.TrimPrefix(server.URL(), "http://"))
		require.Contains(t, failed.Message, "limit 50ms")
		require.Contains(t, failed.Message, "NAT gateway or an interface endpoint for events")
	}
}

func TestACanceledSendIsUnavailable(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{})
	server.Script(eventbridgetest.Hang())

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = server.WaitRequests(ctx, 1)
		cancel()
	}()

	_, err := p.Send(ctx, packed(t, p, anEvent()))
	require.Equal(t, codeCanceled, requireFault(t, err, outbox.Unavailable).Code)
}
