package awsjson

import (
	"net/http"
	"strings"
)

// Operation returns what the request asks of the service, as "PutEvents" of "AWSEvents.PutEvents", or "" when it is not
// meant for that service.
func Operation(r *http.Request, service string) string {
	name, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), service+".")
	if !ok || r.Method != http.MethodPost {
		return ""
	}
	return name
}

// UnknownOperation is the answer to anything the stand-in does not offer.
func UnknownOperation() *Error {
	return &Error{Status: http.StatusBadRequest, Code: "UnknownOperationException", Message: ""}
}
