package eventbridge

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"outboxrelay/internal/outbox"
)

// requestFaults are the error codes of whole requests: EventBridge's own, and AWS's common errors under all the names they
// have. Throttling has a list in the SDK.
var requestFaults = faults(map[outbox.Fault][]string{
	outbox.Throttled: {"TooManyRequests"},

	// It was refused for its size or shape, or for one of its entries.
	outbox.Refused: {
		"ValidationException", "ValidationError", "RequestEntityTooLarge", "RequestEntityTooLargeException",
	},

	// Somebody has to change permissions, credentials or names.
	outbox.Forbidden: {
		"AccessDenied", "AccessDeniedException", "NotAuthorized", "OptInRequired",
		"UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccountId", "InvalidAccountIdException",
		"IncompleteSignature", "IncompleteSignatureException", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
		"ResourceNotFoundException", "UnknownOperationException",
	},

	// It passes by itself: the service is in trouble, or credentials or clock are about to be set right.
	outbox.Unavailable: {
		"InternalException", "InternalFailure", "InternalError", "InternalServerError", "InternalServiceError",
		"ServiceUnavailable", "ServiceUnavailableException", "RequestTimeout", "RequestTimeoutException",
		"RequestAbortedException",
		"ExpiredToken", "ExpiredTokenException", "InvalidSignatureException", "SignatureDoesNotMatch",
		"RequestExpired", "RequestTimeTooSkewed", "RequestInTheFuture", "AuthFailure",
	},
})

func faults(codes map[outbox.Fault][]string) map[string]outbox.Fault {
	byCode := map[string]outbox.Fault{}
	for code := range retry.DefaultThrottleErrorCodes {
		byCode[code] = outbox.Throttled
	}
	for fault, names := range codes {
		for _, name := range names {
			byCode[name] = fault
		}
	}
	return byCode
}

// classify says what an answer means for the request, and, if it is refused, for an event that was alone in it.
func classify(status int, code string) (outbox.Fault, outbox.Verdict) {
	if fault, ok := requestFaults[code]; ok {
		return fault, outbox.Poison
	}
	switch status {
	case http.StatusRequestEntityTooLarge:
		return outbox.Refused, outbox.Poison
	case http.StatusTooManyRequests:
		return outbox.Throttled, outbox.Unanswered
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return outbox.Forbidden, outbox.Unanswered
	case http.StatusBadRequest:
		if code != noCode && code != "" {
			// A code nobody knows may concern one entry. Split, so that it holds up nobody; alone, do not condemn it at once.
			return outbox.Refused, outbox.Unknown
		}
	}
	return outbox.Unavailable, outbox.Unanswered
}

// advice is what to do about a Forbidden call.
func advice(op operation, code string) string {
	switch code {
	case "AccessDenied", "AccessDeniedException":
		return "Allow events:" + string(op) + " on this event bus to the function's role; " +
			"a bus of another account needs it in its own policy too."
	case "ResourceNotFoundException":
		return "Create the event bus or the global endpoint, or correct its name, Region or account."
	case "UnrecognizedClientException", "InvalidClientTokenId":
		return "The credentials are unknown to AWS: correct or renew them."
	default:
		return "Check the function's role, its credentials, the Region and the endpoint."
	}
}
