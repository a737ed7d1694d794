package eventbridgetest

import (
	"net/http"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

// exchange is one request on its way through the server.
type exchange struct {
	request *Request
	wire    *wireRequest   // of PutEvents
	refusal *awsjson.Error // by AWS's rules
	plan    *plan
	end     func(Outcome, reply) // records how it ended
}

// conclude takes an exchange that has been read and planned to its end. The pauses hold no lock.
func (s *Server) conclude(w http.ResponseWriter, r *http.Request, x *exchange, decide func(*exchange) reply) {
	if !s.Pause(r.Context(), x.plan.before) {
		x.abort(Abandoned)
	}

	answer := decide(x)
	if !s.Pause(r.Context(), s.options.latency+x.plan.after) {
		x.abort(Abandoned)
	}

	s.send(w, r, x, answer)
}

// send ends the exchange as its plan has it. The end is recorded before the client can see it, so that a test may look at
// once, and so that a client that sends one request after the other is never seen with two in flight.
func (s *Server) send(w http.ResponseWriter, r *http.Request, x *exchange, answer reply) {
	switch x.plan.ending {
	case drops:
		x.abort(Dropped)
	case hangs:
		s.Hang(r.Context())
		x.abort(Abandoned)
	case hangsMidBody:
		writeHalf(w, x, answer)
		s.Hang(r.Context())
		x.abort(Abandoned)
	case breaksMidBody:
		x.end(Dropped, reply{})
		writeHalf(w, x, answer)
		awsjson.Abort()
	case answers:
		x.end(Answered, answer)
		write(w, x, answer)
	}
}

// abort closes the connection without another byte.
func (x *exchange) abort(outcome Outcome) {
	x.end(outcome, reply{})
	awsjson.Abort()
}
