package eventbridge

import "outboxrelay/internal/outbox"

// check says whether a detail of these would be well formed.
func (e Envelope) check(payload, headers string) *entryFault {
	if payload == "" {
		return malformedDetail("the payload is NULL or empty")
	}

	// The envelope's own levels count: the payload is one below the top, the headers are two.
	levels := maxLevels - 1
	if e == Raw {
		levels = maxLevels
	}
	if flaw := scan(payload, levels); flaw != nil {
		return malformedDetail("the payload cannot be sent: " + flaw.String())
	}
	if e == Raw && !isObject(payload) {
		return malformedDetail("the payload is no JSON object, which the raw envelope needs")
	}
	return checkHeaders(headers)
}

func checkHeaders(headers string) *entryFault {
	if headers == "" {
		return nil
	}
	if flaw := scan(headers, maxLevels-2); flaw != nil {
		return malformedDetail("the headers cannot be sent: " + flaw.String())
	}
	if !isObject(headers) {
		return malformedDetail("the headers are no JSON object")
	}
	return nil
}

func isObject(text string) bool {
	s := scanner{text: text}
	s.space()
	return s.peek() == '{'
}

// detail is the event as consumers get it.
func (e Envelope) detail(event *outbox.Event, source, headers string) string {
	switch e {
	case Raw:
		return event.Payload
	case CloudEvents:
		return cloudEvent(event, source, headers)
	default:
		return metadata(event, headers)
	}
}

const resourcePrefix = "urn:uuid:"

// resources carry the id where the detail has no place for it.
func (e Envelope) resources(event *outbox.Event) []string {
	if e != Raw {
		return nil
	}
	return []string{resourcePrefix + event.ID}
}

// metadataBytes is an envelope's own length at the most, without the texts it holds.
const metadataBytes = len(`{"metadata":{"id":"","sequence":,"type":"","aggregate_type":"","aggregate_id":"",`+
	`"occurred_at":"","headers":},"data":}`) + maxSequence + len(timeLayout)

func metadata(event *outbox.Event, headers string) string {
	var d document

	d.Grow(metadataBytes + len(event.ID) + len(event.Type) + len(event.AggregateType) + len(event.AggregateID) +
		len(headers) + len(event.Payload))

	d.open(`{"metadata":{"id":`).text(event.ID)
	d.open(`,"sequence":`).number(event.Seq)
	d.open(`,"type":`).text(event.Type)
	d.optional(`,"aggregate_type":`, event.AggregateType)
	d.optional(`,"aggregate_id":`, event.AggregateID)
	d.open(`,"occurred_at":`).time(event.CreatedAt)
	if headers != "" {
		d.open(`,"headers":`).WriteString(headers)
	}

	d.open(`},"data":`).WriteString(event.Payload)
	d.WriteByte('}')
	return d.String()
}

const cloudEventBytes = len(`{"specversion":"1.0","id":"","source":"","type":"","subject":"","time":"",`+
	`"datacontenttype":"application/json","data":,"aggregatetype":"","sequence":"","traceparent":,"tracestate":}`) +
	maxSequence + len(timeLayout)

func cloudEvent(event *outbox.Event, source, headers string) string {
	parent, state := headerString(headers, traceParentKey), headerString(headers, traceStateKey)

	var d document

	d.Grow(cloudEventBytes + len(event.ID) + len(source) + len(event.Type) + len(event.AggregateType) + len(event.AggregateID) +
		len(event.Payload) + len(parent) + len(state))

	d.open(`{"specversion":"1.0","id":`).text(event.ID)
	d.open(`,"source":`).text(source)
	d.open(`,"type":`).text(event.Type)
	d.optional(`,"subject":`, event.AggregateID)
	d.open(`,"time":`).time(event.CreatedAt)
	d.open(`,"datacontenttype":"application/json","data":`).WriteString(event.Payload)
	d.optional(`,"aggregatetype":`, event.AggregateType)
	d.open(`,"sequence":`).paddedNumber(event.Seq)
	d.optionalRaw(`,"traceparent":`, parent)
	d.optionalRaw(`,"tracestate":`, state)
	d.WriteByte('}')
	return d.String()
}
