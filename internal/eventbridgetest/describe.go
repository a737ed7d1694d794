package eventbridgetest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

// maxDescribeBody is far more than a bus name takes.
const maxDescribeBody = 64 * 1024

// describeEventBus is not part of Requests: its calls are counted by Describes.
func (s *Server) describeEventBus(w http.ResponseWriter, r *http.Request) {
	bus, err := readDescribe(r)
	if err != nil {
		awsjson.Abort() // the client went away while sending, or is no SDK
	}

	x := &exchange{request: newRequest(r), end: func(Outcome, reply) {}}
	x.plan = s.describeFaults.next(x.request, func() { s.records.describe(x.request, bus, s.options.now()) })
	_, x.refusal = awsjson.ReadSignature(r, s.options.now())

	s.conclude(w, r, x, func(x *exchange) reply { return s.describe(x, bus) })
}

func readDescribe(r *http.Request) (string, error) {
	body, err := readBody(r.Body, maxDescribeBody)
	defer releaseBody(body)
	if err != nil {
		return "", err
	}

	var input struct{ Name string }
	if err := json.Unmarshal(body.Bytes(), &input); err != nil {
		return "", fmt.Errorf("decode request: %w", err)
	}
	return input.Name, nil
}

func (s *Server) describe(x *exchange, bus string) reply {
	if refusal := first(x.plan.refusal, x.refusal); refusal != nil {
		return refuse(refusal)
	}
	if !s.buses.exists(bus) {
		return refuse(&awsjson.Error{
			Status: http.StatusBadRequest, Code: "ResourceNotFoundException",
			Message: "Event bus " + busName(bus) + " does not exist.",
		})
	}

	body, err := json.Marshal(struct{ Arn, Name string }{busARN(bus), busName(bus)})
	if err != nil {
		return reply{status: http.StatusInternalServerError} // two strings always marshal
	}
	return reply{status: http.StatusOK, body: body}
}
