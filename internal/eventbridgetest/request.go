package eventbridgetest

import (
	"net/http"
	"time"
)

// Outcome is how a request ended.
type Outcome string

// The outcomes of a request.
const (
	InFlight  Outcome = "in flight"
	Answered  Outcome = "answered"  // with Status
	Dropped   Outcome = "dropped"   // the server closed the connection
	Abandoned Outcome = "abandoned" // the client went away, or the server closed, before the answer
)

// Request is one PutEvents request.
type Request struct {
	Number   int // from 1, in the order in which requests were read and met the script
	Arrived  time.Time
	Ended    time.Time // just before the answer was written; zero while in flight
	Outcome  Outcome
	InFlight int // requests in flight when this one had arrived, itself included

	Host       string
	Algorithm  string    // of the signature: awsjson.SigV4 or awsjson.SigV4A
	SignedAt   time.Time // by the client's clock
	Attempt    string    // the SDK's count, as "attempt=1; max=3"
	EndpointID string

	Entries   []Entry // kept with RecordAll
	Count     int     // of entries
	Size      int     // of all entries by AWS's formula
	Oversized bool    // over MaxBytes, or the body over MaxBodyBytes

	Status    int    // of the answer, 0 if there was none
	ErrorCode string // of a refusal; "" also for a bare 413
	Accepted  int    // entries
	Dropped   int    // entries answered with success whose bus does not exist
	Failed    int    // entries
}

func newRequest(r *http.Request) *Request {
	return &Request{Host: r.Host, Attempt: r.Header.Get("Amz-Sdk-Request"), Outcome: InFlight}
}

func (r *Request) fill(wire *wireRequest, maxBytes int) {
	r.EndpointID = wire.EndpointID
	r.Entries = wire.entries()
	r.Count = len(r.Entries)
	for i := range r.Entries {
		r.Size += r.Entries[i].Size
	}

	r.Oversized = r.Size > maxBytes
}
