package eventbridge

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"outboxrelay/internal/outbox"
)

// entryVerdicts are the codes that a result entry may carry, as types.PutEventsResultEntry documents them.
var entryVerdicts = map[string]outbox.Verdict{
	"InternalFailure":     outbox.Transient,
	"ThrottlingException": outbox.Transient,

	"AccessDeniedException":               outbox.Denied,
	"InvalidAccountIdException":           outbox.Denied,
	"NotAuthorizedForDetailTypeException": outbox.Denied,
	"RedactionFailure":                    outbox.Denied,

	"InvalidArgument":                 outbox.Poison,
	"MalformedDetail":                 outbox.Poison,
	"NotAuthorizedForSourceException": outbox.Poison,
}

// results pairs what was sent with what EventBridge says of it. A reply of another length cannot be paired: which events were
// accepted is unknown, so none is.
func results(request outbox.Request, replies []types.PutEventsResultEntry) ([]outbox.Outcome, error) {
	if len(replies) != len(request.Entries) {
		return nil, &outbox.RequestError{Fault: outbox.Unavailable, Code: codeUnreadable, Message: fmt.Sprintf(
			"EventBridge's reply has %d results for %d entries, so none of them is known to be accepted.",
			len(replies), len(request.Entries),
		)}
	}

	outcomes := make([]outbox.Outcome, len(replies))
	for i := range replies {
		outcomes[i] = result(request.Entries[i].Event, &replies[i])
	}
	return outcomes, nil
}

func result(event *outbox.Event, reply *types.PutEventsResultEntry) outbox.Outcome {
	code := aws.ToString(reply.ErrorCode)
	switch {
	case code != "":
		return outbox.Outcome{
			Event: event, Verdict: verdict(code), Code: printable(code), Message: printable(aws.ToString(reply.ErrorMessage)),
			Throttled: code == "ThrottlingException",
		}
	case aws.ToString(reply.EventId) != "":
		return outbox.Outcome{Event: event, Verdict: outbox.Accepted}
	default:
		return outbox.Outcome{
			Event: event, Verdict: outbox.Transient, Code: "MissingResult",
			Message: "EventBridge's reply has neither an event id nor an error code for this entry.",
		}
	}
}

func verdict(code string) outbox.Verdict {
	if known, ok := entryVerdicts[code]; ok {
		return known
	}
	return outbox.Unknown
}
