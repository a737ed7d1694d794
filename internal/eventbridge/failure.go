package eventbridge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"outboxrelay/internal/outbox"
)

// Our own codes, for calls that brought no answer of the service's own.
const (
	codeUnreadable  = "UnreadableReply"
	codeTimeout     = "RequestTimeout"
	codeCanceled    = "RequestCanceled"
	codeUnreachable = "ConnectionFailure"
	codeNotSent     = "RequestNotSent"
	codeTooLarge    = "RequestEntityTooLargeException"
)

// noCode is what the SDK says when the service gave no error code.
const noCode = "UnknownError"

// operation is a call, as the IAM permission and the message name it.
type operation string

const (
	putEvents        operation = "PutEvents"
	describeEventBus operation = "DescribeEventBus"
)

// failure is a call that failed as a whole.
type failure struct {
	outbox.RequestError

	// lone is what Refused means for an event that was alone in its request.
	lone outbox.Verdict
}

// certainlyLarge is a size in bytes for which a bus may refuse an event: some Regions take 256 KB.
const certainlyLarge = 200_000

// refusal turns a failed request into what Publisher.Send promises: a lone culprit is an outcome.
func refusal(request outbox.Request, f failure) ([]outbox.Outcome, error) {
	if f.Fault != outbox.Refused || len(request.Entries) > 1 {
		return nil, &f.RequestError
	}

	entry := request.Entries[0]
	return []outbox.Outcome{{
		Event: entry.Event, Verdict: f.lone, Code: f.Code, Message: fmt.Sprintf("%s (%d bytes)", f.Message, entry.Size),
		Doubtful: f.Code != codeTooLarge || entry.Size < certainlyLarge,
	}}, nil
}

// failure reads an error of the SDK, from the outside in: a call that fetches credentials may have failed with an answer of
// its own; the service may have answered; a reply may have come that is none; or none came at all.
func (p *Publisher) failure(ctx context.Context, op operation, err error) failure {
	if f, ok := nestedCall(err); ok {
		return f
	}

	status := 0
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		status = response.HTTPStatusCode()
	}

	var answer smithy.APIError
	switch {
	case errors.As(err, &answer):
		return answered(op, status, answer, skewed(err))
	case status >= http.StatusMultipleChoices: // an error page, of a proxy perhaps
		return answered(op, status, &smithy.GenericAPIError{Code: noCode, Message: noCode}, false)
	case ctx.Err() != nil:
		return p.unanswered(ctx)
	case status != 0:
		return unavailable(codeUnreadable, fmt.Sprintf("the reply to %s cannot be read: %s", op, printable(err.Error())))
	default:
		return p.unsent(err)
	}
}

// nestedCall recognizes the failure of a call that was needed for this one: of STS, SSO or the instance metadata, for
// credentials. Its code is not EventBridge's word on the events.
func nestedCall(err error) (failure, bool) {
	var outer, inner *smithy.OperationError
	if !errors.As(err, &outer) || !errors.As(outer.Err, &inner) {
		return failure{}, false
	}
	return unavailable(codeNotSent, fmt.Sprintf("%s.%s failed, which the credentials for EventBridge come from: %s",
		inner.ServiceID, inner.OperationName, printable(inner.Err.Error()))), true
}

// skewed reports whether the SDK found its signing clock off while it was refused, which it has corrected now.
func skewed(err error) bool {
	var retryable interface{ RetryableError() bool }
	return errors.As(err, &retryable) && retryable.RetryableError()
}

func unavailable(code, message string) failure {
	return failure{RequestError: outbox.RequestError{Fault: outbox.Unavailable, Code: code, Message: message}}
}

// answered classifies by the service's code, and by the HTTP status where the code is none or unheard of.
func answered(op operation, status int, answer smithy.APIError, skewed bool) failure {
	code := answer.ErrorCode()
	fault, lone := classify(status, code)
	if skewed {
		fault = outbox.Unavailable
	}

	f := failure{outbox.RequestError{Fault: fault, Code: printable(code), Message: printable(answer.ErrorMessage())}, lone}
	if code == noCode || code == "" {
		f.Code, f.Message = nameless(status)
	}
	if fault == outbox.Forbidden {
		f.Message = strings.TrimSpace(f.Message + " " + advice(op, code))
	}
	return f
}

// nameless names an answer without an error code after its status.
func nameless(status int) (code, message string) {
	if status == http.StatusRequestEntityTooLarge {
		return codeTooLarge, "EventBridge refused the request for its size, with HTTP status 413 and no more."
	}
	return fmt.Sprintf("HTTP%d", status),
		fmt.Sprintf("HTTP status %d (%s) without an error code.", status, http.StatusText(status))
}
