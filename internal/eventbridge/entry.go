package eventbridge

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"outboxrelay/internal/outbox"
)

const (
	awsPrefix     = "aws."
	maxDetailType = 128 // characters
	timeBytes     = 14  // what EventBridge counts for Time
	maxYear       = 9999
)

// entryFault is why no request can carry an event.
type entryFault struct{ code, message string }

func (f *entryFault) outcome(event *outbox.Event) outbox.Outcome {
	return outbox.Outcome{Event: event, Verdict: outbox.Poison, Code: f.code, Message: f.message}
}

// entry makes an event ready to be sent.
func (p *Publisher) entry(event *outbox.Event) (outbox.Entry, *entryFault) {
	source := p.source(event)
	if fault := checkArguments(event, source); fault != nil {
		return outbox.Entry{}, fault
	}

	// What is too large by its payload alone is not worth building.
	if event.Oversized || len(event.Payload) > p.config.MaxBytes {
		return outbox.Entry{}, p.tooLarge(max(event.TextBytes, len(event.Payload)))
	}

	headers := presentHeaders(event.Headers)
	if fault := p.config.Envelope.check(event.Payload, headers); fault != nil {
		return outbox.Entry{}, fault
	}

	entry := outbox.Entry{Event: event, Detail: p.config.Envelope.detail(event, source, headers)}

	entry.Size = p.size(event, source, entry.Detail)
	if entry.Size > p.config.MaxBytes {
		return outbox.Entry{}, p.tooLarge(entry.Size)
	}
	return entry, nil
}

// size follows https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html#eb-putevent-size.
func (p *Publisher) size(event *outbox.Event, source, detail string) int {
	size := timeBytes + len(source) + len(event.Type) + len(detail)
	if p.config.Envelope == Raw {
		size += len(resourcePrefix) + len(event.ID)
	}
	return size
}

func (p *Publisher) tooLarge(bytes int) *entryFault {
	return &entryFault{"EventTooLarge", fmt.Sprintf(
		"The event has %d bytes; a request to the bus carries at most %d.", bytes, p.config.MaxBytes,
	)}
}

func checkArguments(event *outbox.Event, source string) *entryFault {
	switch year := event.CreatedAt.UTC().Year(); {
	case !validBus(event.Bus):
		return invalidArgument("EventBusName", "topic is neither the name nor the ARN of an event bus")
	case event.ID == "":
		return invalidArgument("Detail", "id is NULL or empty")
	case event.Type == "":
		return invalidArgument("DetailType", "event_type is empty")
	case len(event.Type) > maxDetailType && utf8.RuneCountInString(event.Type) > maxDetailType:
		return invalidArgument("DetailType", fmt.Sprintf("event_type has %d characters, at most %d are allowed",
			utf8.RuneCountInString(event.Type), maxDetailType))
	case strings.HasPrefix(source, awsPrefix):
		return &entryFault{
			"NotAuthorizedForSourceException",
			"Not authorized for the source: the prefix \"" + awsPrefix + "\" is reserved by AWS.",
		}
	case event.Timeless:
		return invalidArgument("Time", "created_at is NULL or no finite time")
	case year < 0 || year > maxYear:
		return invalidArgument("Time", fmt.Sprintf("created_at is in the year %d, RFC 3339 ends at %d", year, maxYear))
	default:
		return nil
	}
}

func invalidArgument(parameter, reason string) *entryFault {
	return &entryFault{"InvalidArgument", "Parameter " + parameter + " is not valid. Reason: " + reason + "."}
}

func malformedDetail(reason string) *entryFault {
	return &entryFault{"MalformedDetail", "Detail is malformed. Reason: " + reason + "."}
}
