package outbox

import (
	"context"
	"fmt"
)

// Publisher turns events into requests and sends them. It is safe for
// concurrent use. It never retries: the relay decides what is sent again.
type Publisher interface {
	// Pack puts the events into requests that each go to one bus and stay
	// within the bus's limits, in the order of the events. An event that no
	// request can carry is not packed: it comes back as a Poison outcome.
	Pack(events []Event) ([]Request, []Outcome)

	// CheckBus reports whether the bus exists, by an answer at most a minute
	// old. The error is a *RequestError: Forbidden when there is no such bus,
	// Unavailable when there was no answer.
	CheckBus(ctx context.Context, bus string) error

	// Send makes one attempt to deliver a request, within the publisher's own
	// time limit, and returns one outcome for each entry, in order. The error,
	// a *RequestError, concerns the request as a whole: no entry is known to
	// be accepted, though any may have been.
	Send(ctx context.Context, request Request) ([]Outcome, error)
}

// Request is what one call carries: entries of a single bus.
type Request struct {
	Bus     string
	Entries []Entry
}

// Entry is an event in the form in which it is sent.
type Entry struct {
	Event  *Event
	Detail string // the envelope, JSON text
	Size   int    // bytes, as the bus counts them
}

// split cuts a request in two, so that the entry for which it was refused ends
// up alone.
func (r Request) split() (Request, Request) {
	half := len(r.Entries) / 2
	return Request{Bus: r.Bus, Entries: r.Entries[:half]},
		Request{Bus: r.Bus, Entries: r.Entries[half:]}
}

// Outcome is what became of one event.
type Outcome struct {
	Event   *Event
	Verdict Verdict
	Code    string // the bus's error code, or ours in its style; empty when accepted
	Message string // never contains the payload
	// Throttled: a Transient outcome by which the bus asks for fewer requests.
	Throttled bool
	// Doubtful: the request was refused as a whole, though it had no other
	// entry. That is this event's fault only if the bus takes others.
	Doubtful bool
}

// requestError makes an error of an outcome that concerns more than its event.
func (o Outcome) requestError(fault Fault) error {
	return &RequestError{Fault: fault, Code: o.Code, Message: o.Message}
}

// Verdict says what an outcome means for the row.
type Verdict int

const (
	// Held: it was not sent, for want of leave or of time. The row stays as it
	// is.
	Held Verdict = iota
	// Unanswered: its request failed as a whole. Whether it was accepted is
	// unknown; the row stays as it is.
	Unanswered
	// Accepted: the bus has the event; the row is published.
	Accepted
	// Transient: the bus may take it later; the row waits for its retry_at.
	Transient
	// Unknown: a code nobody knows; as Transient, but Poison once the row has
	// failed too often.
	Unknown
	// Denied: an operator has to act (permissions, a missing bus); the row
	// stays as it is and its bus is left out for the rest of the run.
	Denied
	// Poison: it can never be accepted as it is; the row moves to the failed
	// table.
	Poison
)

// RequestError says why a request as a whole failed.
type RequestError struct {
	Fault   Fault
	Code    string // the service's error code, or ours in its style
	Message string // what is wrong and what to do; never contains a payload
}

// Error gives the code and the message.
func (e *RequestError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Fault says what a RequestError means for the bus.
type Fault int

const (
	// Unavailable: the bus did not answer, or not so that the answer can be
	// used; whether it accepted anything is unknown.
	Unavailable Fault = iota
	// Throttled: the bus asks for fewer requests a second.
	Throttled
	// Refused: the request is refused as it stands, for its size or for one
	// of its entries. The relay cuts it up until the culprit stands alone.
	Refused
	// Forbidden: an operator has to act, as with Denied.
	Forbidden
)
