package eventbridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"outboxrelay/internal/outbox"
)

// detailOf packs an event and returns its detail.
func detailOf(t *testing.T, envelope Envelope, event outbox.Event) string {
	t.Helper()
	return packed(t, newPublisher(t, "", Config{Envelope: envelope}), event).Entries[0].Detail
}

func TestMetadataEnvelope(t *testing.T) {
	t.Parallel()

	event := anEvent(headers(`{"traceparent": "00-ab", "n": 1.10}`))
	want := `{"metadata":{"id":"` + testID + `","sequence":42,"type":"OrderPlaced","aggregate_type":"order","aggregate_id":"o-7",` +
		`"occurred_at":"2026-11-30T09:08:07.654321Z","headers":{"traceparent": "00-ab", "n": 1.10}},"data":{"total": 1.10}}`
	require.Equal(t, want, detailOf(t, Metadata, event))
}

func TestCloudEventsEnvelope(t *testing.T) {
	t.Parallel()

	event := anEvent(from("shop"), headers(`{"traceparent":"00-ab","tracestate":"v=\"1\"","other":true}`))
	want := `{"specversion":"1.0","id":"` + testID + `","source":"shop","type":"OrderPlaced","subject":"o-7",` +
		`"time":"2026-11-30T09:08:07.654321Z","datacontenttype":"application/json","data":{"total": 1.10},"aggregatetype":"order",` +
		`"sequence":"00000000000000000042","traceparent":"00-ab","tracestate":"v=\"1\""}`
	require.Equal(t, want, detailOf(t, CloudEvents, event))
}

func TestRawEnvelopeIsThePayloadWithTheIDInResources(t *testing.T) {
	t.Parallel()

	event := anEvent(payload(" {\"id\":\"another\"}\n"))
	require.Equal(t, event.Payload, detailOf(t, Raw, event))
	require.Equal(t, []string{"urn:uuid:" + testID}, Raw.resources(&event))
	require.Empty(t, Metadata.resources(&event))
	require.Empty(t, CloudEvents.resources(&event))
}

func TestAbsentValuesAreLeftOut(t *testing.T) {
	t.Parallel()

	event := outbox.Event{Seq: 1, ID: testID, Type: "T", Payload: "null", Headers: "null", Bus: "b", CreatedAt: created.Truncate(time.Second)}
	want := `{"metadata":{"id":"` + testID + `","sequence":1,"type":"T","occurred_at":"2026-11-30T09:08:07.000000Z"},"data":null}`
	require.Equal(t, want, detailOf(t, Metadata, event))

	want = `{"specversion":"1.0","id":"` + testID + `","source":"outbox","type":"T","time":"2026-11-30T09:08:07.000000Z",` +
		`"datacontenttype":"application/json","data":null,"sequence":"00000000000000000001"}`
	require.Equal(t, want, detailOf(t, CloudEvents, event))

	event.Headers = "{}"
	require.Contains(t, detailOf(t, Metadata, event), `"headers":{}`)
}

func TestTimesAreUTCWithSixDigits(t *testing.T) {
	t.Parallel()
	for text, at := range map[string]time.Time{
		"2026-11-30T09:08:07.654321Z": created.In(time.FixedZone("east", 3600)),
		"0000-01-01T00:00:00.000000Z": time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		"0044-03-15T12:00:00.000001Z": time.Date(44, 3, 15, 12, 0, 0, 1000, time.UTC),
		"9999-12-31T23:59:59.999999Z": time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC),
	} {
		require.Contains(t, detailOf(t, Metadata, anEvent(func(e *outbox.Event) { e.CreatedAt = at })), `"occurred_at":"`+text+`"`)
	}
}

func TestNumbersAndFormStayAsTheyAre(t *testing.T) {
	t.Parallel()

	text := "{ \"b\":9007199254740993, \"a\" : [1.10, 1E2, 0.1000000000000000055, -0, 9223372036854775807],\n\"b\":1, \"\\u00e9\":\"\\/\"}"
	for _, envelope := range []Envelope{Metadata, CloudEvents, Raw} {
		require.Contains(t, detailOf(t, envelope, anEvent(payload(text), headers(text))), text)
	}
}

func TestTheLimitOfLevelsIncludesTheEnvelope(t *testing.T) {
	t.Parallel()
	for envelope, levels := range map[Envelope]int{Metadata: 999, CloudEvents: 999, Raw: 1000} {
		p := newPublisher(t, "", Config{Envelope: envelope})
		object := func(levels int) outbox.Event { return anEvent(payload(`{"a":` + nested(levels-1) + `}`)) }
		detail := packed(t, p, object(levels)).Entries[0].Detail
		require.Nil(t, scan(detail, 1000))
		require.NotNil(t, scan(detail, 999))
		for _, levels := range []int{levels + 1, 1200, 100_000} {
			_, poison := p.Pack([]outbox.Event{object(levels)})
			require.Len(t, poison, 1)
			require.Equal(t, "MalformedDetail", poison[0].Code)
			require.Contains(t, poison[0].Message, "1000 levels")
		}
	}

	p := newPublisher(t, "", Config{})
	deep := func(levels int) outbox.Event { return anEvent(headers(`{"a":` + nested(levels-1) + `}`)) }
	require.Nil(t, scan(packed(t, p, deep(998)).Entries[0].Detail, 1000))

	_, poison := p.Pack([]outbox.Event{deep(999)})
	require.Len(t, poison, 1)
}

func TestAnyTextBecomesAValidJSONString(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                   `""`,
		"plain":              `"plain"`,
		"a\"b\\c/d":          `"a\"b\\c/d"`,
		"\x00\x1f\n\x7f":     "\"\\u0000\\u001f\\u000a\x7f\"",
		"grün 日本 🚀\u2028<&>": "\"grün 日本 🚀\u2028<&>\"",
		"bad\xff\xc3(":       "\"bad\ufffd\ufffd(\"",
		"\xed\xa0\x80":       "\"\ufffd\ufffd\ufffd\"",
	} {
		var d document

		d.text(text)
		require.Equal(t, want, d.String())
		require.True(t, json.Valid([]byte(d.String())))
	}
}

func TestEnvelopesGiveBackWhatTheRowHeld(t *testing.T) {
	t.Parallel()

	metadata, cloud := newPublisher(t, "", Config{}), newPublisher(t, "", Config{Envelope: CloudEvents})

	rapid.Check(t, func(t *rapid.T) {
		event := drawEvent(t)
		requests, poison := metadata.Pack([]outbox.Event{event})
		require.Empty(t, poison)
		requireMetadata(t, event, requests[0].Entries[0].Detail)
		requests, poison = cloud.Pack([]outbox.Event{event})
		require.Empty(t, poison)
		requireCloudEvent(t, event, requests[0].Entries[0].Detail)
	})
}

func requireMetadata(t *rapid.T, event outbox.Event, detail string) {
	var got struct {
		Metadata struct {
			ID, Type      string
			Sequence      json.Number
			AggregateType *string         `json:"aggregate_type"`
			AggregateID   *string         `json:"aggregate_id"`
			OccurredAt    time.Time       `json:"occurred_at"`
			Headers       json.RawMessage `json:"headers"`
		}
		Data json.RawMessage
	}

	decode(t, detail, &got)
	require.Equal(t, event.ID, got.Metadata.ID)
	require.Equal(t, event.Type, got.Metadata.Type)
	require.Equal(t, fmt.Sprint(event.Seq), got.Metadata.Sequence.String())
	requireOptional(t, event.AggregateType, got.Metadata.AggregateType)
	requireOptional(t, event.AggregateID, got.Metadata.AggregateID)
	require.True(t, event.CreatedAt.Equal(got.Metadata.OccurredAt))
	require.Equal(t, event.Headers, string(got.Metadata.Headers))
	require.Equal(t, event.Payload, string(got.Data))
}

func requireCloudEvent(t *rapid.T, event outbox.Event, detail string) {
	var got struct {
		Specversion, ID, Source, Type, Datacontenttype, Sequence string

		Subject, Aggregatetype *string
		Time                   time.Time
		Data                   json.RawMessage
	}

	decode(t, detail, &got)
	require.Equal(t, []string{"1.0", event.ID, "outbox", event.Type, "application/json", fmt.Sprintf("%020d", event.Seq)},
		[]string{got.Specversion, got.ID, got.Source, got.Type, got.Datacontenttype, got.Sequence})
	requireOptional(t, event.AggregateID, got.Subject)
	requireOptional(t, event.AggregateType, got.Aggregatetype)
	require.True(t, event.CreatedAt.Equal(got.Time))
	require.Equal(t, event.Payload, string(got.Data))
}

func requireOptional(t *rapid.T, want string, got *string) {
	if want == "" {
		require.Nil(t, got)
		return
	}

	require.Equal(t, want, *got)
}

func decode(t *rapid.T, text string, into any) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(into), text)
}

func drawEvent(t *rapid.T) outbox.Event {
	event := outbox.Event{
		Seq: rapid.Int64().Draw(t, "seq"), ID: testID, Bus: "orders",
		Type:          rapid.StringN(1, 128, -1).Draw(t, "type"),
		AggregateType: rapid.String().Draw(t, "aggregate type"),
		AggregateID:   rapid.String().Draw(t, "aggregate id"),
		CreatedAt:     time.UnixMicro(rapid.Int64Range(-60_000_000_000_000_000, 250_000_000_000_000_000).Draw(t, "created")).UTC(),
		Payload:       drawJSON(t, "payload", 3),
	}
	if rapid.Bool().Draw(t, "with headers") {
		event.Headers = drawObject(t, "headers", 2)
	}
	return event
}

func drawJSON(t *rapid.T, label string, depth int) string {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(1, kinds).Draw(t, label) {
	case 1:
		return rapid.SampledFrom([]string{"null", "true", "false", "1.10", "1E2", "-0", "0.1000000000000000055"}).Draw(t, label)
	case 2:
		return fmt.Sprint(rapid.Int64().Draw(t, label))
	case 3, 4:
		return quoted(rapid.String().Draw(t, label))
	case 5:
		return drawObject(t, label, depth-1)
	default:
		return "[" + drawJSON(t, label, depth-1) + " , " + drawJSON(t, label, depth-1) + "]"
	}
}

func drawObject(t *rapid.T, label string, depth int) string {
	members := make([]string, rapid.IntRange(0, 3).Draw(t, label))
	for i := range members {
		members[i] = quoted(rapid.String().Draw(t, label)) + ": " + drawJSON(t, label, depth-1)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func quoted(text string) string {
	var buffer bytes.Buffer

	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err)
	}
	return strings.TrimSpace(buffer.String())
}
