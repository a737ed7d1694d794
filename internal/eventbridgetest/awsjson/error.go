package awsjson

import (
	"encoding/json"
	"net/http"
)

// ContentType of every request and reply of the protocol.
const ContentType = "application/x-amz-json-1.1"

// Error is a refusal of a whole request. Without a Code the reply has no body at all, as the 413 of AWS's front end.
type Error struct {
	Status  int
	Code    string
	Message string
}

// Body is the refusal as AWS words it: {"__type":"ValidationException","message":"..."}.
func (e *Error) Body() []byte {
	if e.Code == "" {
		return nil
	}

	body, err := json.Marshal(struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}{e.Code, e.Message})
	if err != nil {
		return nil // two strings always marshal
	}
	return body
}

// WriteHeaders sets what every reply of AWS carries.
func WriteHeaders(w http.ResponseWriter, requestID string) {
	w.Header().Set("Content-Type", ContentType)
	w.Header().Set("X-Amzn-Requestid", requestID)
}
