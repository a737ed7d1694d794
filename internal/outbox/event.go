package outbox

import "time"

// Event is one pending row of the outbox, as a claim hands it over.
type Event struct {
	Seq           int64         // order of insertion; the row's key
	ID            string        // uuid in its canonical text form; the same on every send
	AggregateType string        // empty when absent
	AggregateID   string        // empty when absent
	Type          string        // EventBridge DetailType
	Payload       string        // JSON text as the database renders it; empty when NULL or not transferred
	Headers       string        // JSON text; empty when NULL or not transferred
	Source        string        // EventBridge Source; empty: the publisher's default
	Bus           string        // name or ARN of the event bus; never empty
	CreatedAt     time.Time     // UTC, microseconds
	Timeless      bool          // the row's created_at is NULL or infinite, so CreatedAt is none
	Age           time.Duration // from CreatedAt to the claim, both by the database's clock; within a hundred years
	Attempts      int           // failures of this entry so far
	TextBytes     int           // bytes of the payload's and headers' text
	Oversized     bool          // payload or headers are over Claim.EventBytes, so neither was transferred

	// Alone asks for a request of the event's own: the last one that
	// carried it failed while its bus took others.
	Alone bool
}
