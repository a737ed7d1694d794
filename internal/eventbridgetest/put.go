package eventbridgetest

import (
	"errors"
	"net/http"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

// putEvents reads, plans, pauses, accepts, pauses and answers.
func (s *Server) putEvents(w http.ResponseWriter, r *http.Request) {
	s.records.enter()

	x, err := s.read(r)
	if err != nil {
		s.records.leave()
		awsjson.Abort() // the client went away while sending: there is no request
	}

	x.plan = s.putFaults.next(x.request, func() { s.records.admit(x.request, s.options.now()) })
	x.end = func(outcome Outcome, answer reply) { s.records.finish(x.request, outcome, answer, s.options.now()) }

	s.conclude(w, r, x, s.decide)
}

// read takes the request in and checks it, without deciding anything yet.
func (s *Server) read(r *http.Request) (*exchange, error) {
	x := &exchange{request: newRequest(r), wire: &wireRequest{}}

	body, err := readBody(r.Body, s.options.maxBodyBytes)
	defer releaseBody(body)
	if errors.Is(err, errTooLarge) {
		x.request.Oversized = true
		x.refusal = &awsjson.Error{Status: http.StatusRequestEntityTooLarge}
		return x, nil
	} else if err != nil {
		return nil, err
	}

	x.refusal = s.check(x, r, body.Bytes())
	return x, nil
}

func (s *Server) check(x *exchange, r *http.Request, body []byte) *awsjson.Error {
	signature, refusal := awsjson.ReadSignature(r, s.options.now())
	x.request.Algorithm, x.request.SignedAt = signature.Algorithm, signature.SignedAt

	wire, err := decodeRequest(body)
	if err != nil {
		return first(refusal, &awsjson.Error{
			Status: http.StatusBadRequest, Code: "SerializationException", Message: err.Error(),
		})
	}

	x.wire = wire
	x.request.fill(wire, s.options.maxBytes)
	return first(refusal, checkRequest(wire, x.request.Size, s.options.maxBytes))
}

// decide accepts the entries and words the answer. A scripted refusal comes before AWS's own: throttling and credentials are
// checked at the door.
func (s *Server) decide(x *exchange) reply {
	if refusal := first(x.plan.refusal, x.refusal); refusal != nil {
		return refuse(refusal)
	}

	results := s.judge(x)
	if !x.plan.withhold {
		s.records.accept(x.request, results, s.options.now())
	}
	if x.plan.results != nil {
		results = x.plan.results(results)
	}
	return reply{status: http.StatusOK, body: encodeResults(results)}
}

// judge pairs every entry with its result.
func (s *Server) judge(x *exchange) []result {
	results := make([]result, len(x.request.Entries))
	for i := range x.request.Entries {
		e := &x.request.Entries[i]
		fault := e.fault
		if scripted := x.plan.entryErrors[i]; scripted != nil {
			fault = scripted
		}
		if fault != nil {
			results[i] = result{ErrorCode: fault.code, ErrorMessage: fault.message}
			continue
		}

		results[i] = result{EventID: eventID(x.request.Number, i), dropped: !s.buses.exists(e.Bus)}
	}
	return results
}

func first(errs ...*awsjson.Error) *awsjson.Error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
