package eventbridgetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

// result is one entry of PutEvents' output.
type result struct {
	EventID      string `json:"EventId,omitempty"`
	ErrorCode    string `json:"ErrorCode,omitempty"`
	ErrorMessage string `json:"ErrorMessage,omitempty"`

	dropped bool // answered with success, but its bus does not exist
}

type reply struct {
	status int
	code   string // of a refusal
	body   []byte
}

func refuse(err *awsjson.Error) reply {
	return reply{status: err.Status, code: err.Code, body: err.Body()}
}

func encodeResults(results []result) []byte {
	failed := 0
	for i := range results {
		if results[i].ErrorCode != "" {
			failed++
		}
	}

	body, err := json.Marshal(struct {
		FailedEntryCount int
		Entries          []result
	}{failed, results})
	if err != nil {
		return nil // numbers and strings always marshal
	}
	return body
}

func write(w http.ResponseWriter, x *exchange, answer reply) {
	if x.plan.body != nil {
		answer.body = x.plan.body(answer.body)
	}

	writeHeaders(w, x, answer)
	_, _ = w.Write(answer.body)
}

func writeHalf(w http.ResponseWriter, x *exchange, answer reply) {
	writeHeaders(w, x, answer)
	_, _ = w.Write(answer.body[:len(answer.body)/2])
	_ = http.NewResponseController(w).Flush()
}

func writeHeaders(w http.ResponseWriter, x *exchange, answer reply) {
	awsjson.WriteHeaders(w, requestID(x.request.Number))
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.body)))

	maps.Copy(w.Header(), x.plan.header)

	w.WriteHeader(answer.status)
}

// eventID and requestID look like AWS's and follow from the order of requests alone.
func eventID(request, index int) string {
	return fmt.Sprintf("%08x-%04x-4000-8000-%012x", request, index, request)
}

func requestID(request int) string {
	return fmt.Sprintf("%08x-0000-4000-9000-%012x", request, request)
}
