package eventbridgetest

import (
	"maps"
	"slices"
)

// Accepted returns the accepted entries in order of acceptance (with RecordAll).
func (s *Server) Accepted() []Accepted {
	return read(s.records, func(r *records) []Accepted { return slices.Clone(r.accepted) })
}

// AcceptedByID groups the accepted entries by the event's identity (with RecordAll); more than one is a duplicate.
func (s *Server) AcceptedByID() map[string][]Accepted {
	groups := map[string][]Accepted{}
	for _, a := range s.Accepted() {
		groups[a.ID] = append(groups[a.ID], a)
	}
	return groups
}

// AcceptedIDs returns how often each identity was accepted (with RecordAll or RecordIDs).
func (s *Server) AcceptedIDs() map[string]int {
	return read(s.records, func(r *records) map[string]int { return maps.Clone(r.ids) })
}

// Dropped returns the entries answered with success whose bus does not exist (with RecordAll). Their Sequence is 0.
func (s *Server) Dropped() []Accepted {
	return read(s.records, func(r *records) []Accepted { return slices.Clone(r.dropped) })
}

// Requests returns all PutEvents requests by their number (with RecordAll), also those in flight.
func (s *Server) Requests() []Request {
	return read(s.records, func(r *records) []Request {
		requests := make([]Request, len(r.requests))
		for i, request := range r.requests {
			requests[i] = *request
		}
		return requests
	})
}

// Describes returns the bus of every DescribeEventBus request, as named.
func (s *Server) Describes() []string {
	return read(s.records, func(r *records) []string { return slices.Clone(r.describes) })
}

// Stats returns the numbers so far.
func (s *Server) Stats() Stats {
	return read(s.records, func(r *records) Stats { return r.stats })
}

// MaxInFlight is the most PutEvents requests seen in flight at once.
func (s *Server) MaxInFlight() int { return s.Stats().MaxInFlight }

// Oversized is the number of requests over a size limit.
func (s *Server) Oversized() int { return s.Stats().Oversized }

// OnAccepted has tell called for every entry accepted from now on, whatever is recorded: once recorded, before the answer, by
// the request's goroutine, so that several may be told at once.
func (s *Server) OnAccepted(tell func(Accepted)) {
	s.records.mu.Lock()
	defer s.records.mu.Unlock()

	s.records.onAccepted = tell
}

func read[T any](r *records, get func(*records) T) T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return get(r)
}
