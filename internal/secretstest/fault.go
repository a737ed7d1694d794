package secretstest

import (
	"net/http"
	"time"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

// Fault is what goes wrong with a call. The zero Fault is a call that goes well.
type Fault struct {
	err     *awsjson.Error
	hang    bool
	latency time.Duration
}

// Refuse answers with an error.
func Refuse(status int, code, message string) Fault {
	return Fault{err: &awsjson.Error{Status: status, Code: code, Message: message}}
}

// Throttle is the rate of calls exceeded.
func Throttle() Fault { return Refuse(http.StatusBadRequest, "ThrottlingException", "Rate exceeded") }

// NotFound is a secret that does not exist.
func NotFound() Fault {
	return Fault{err: refuse("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")}
}

// AccessDenied is a missing permission.
func AccessDenied() Fault {
	return Fault{err: refuse("AccessDeniedException",
		"User is not authorized to perform: secretsmanager:GetSecretValue because no identity-based policy allows it")}
}

// InternalServiceError is a 500.
func InternalServiceError() Fault {
	return Refuse(http.StatusInternalServerError, "InternalServiceError", "An error occurred on the server side.")
}

// Hang never answers. It ends when the client goes away or the server closes.
func Hang() Fault { return Fault{hang: true} }

// Latency answers after d.
func Latency(d time.Duration) Fault { return Fault{latency: d} }

// Repeat is f n times over, to spread into a Script.
func Repeat(n int, f Fault) []Fault {
	faults := make([]Fault, n)
	for i := range faults {
		faults[i] = f
	}
	return faults
}

// Script adds faults that one call each meets, in order of arrival, instead of what Always says.
func (s *Server) Script(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.script = append(s.script, faults...)
}

// Always sets the fault of every call that meets no script.
func (s *Server) Always(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.always = fault
}

// Clear takes all faults back. Calls that already wait go on waiting.
func (s *Server) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.always, s.script = Fault{}, nil
}
