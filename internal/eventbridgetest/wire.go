package eventbridgetest

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// wireRequest is PutEvents' input. Pointers tell an empty member from a missing one.
type wireRequest struct {
	EndpointID string
	Entries    *[]wireEntry
}

type wireEntry struct {
	Source, DetailType, Detail, EventBusName, TraceHeader *string

	Resources []string
	Time      *time.Time
}

// wireScan reads a request once.
type wireScan struct {
	scanner

	request wireRequest
}

func decodeRequest(body []byte) (*wireRequest, error) {
	s := wireScan{scanner: scanner{text: string(body)}}
	s.space()
	if !s.object(1, s.member) || !s.end() {
		return nil, fmt.Errorf("cannot read the request at byte %d", s.pos)
	}
	return &s.request, nil
}

func (s *wireScan) member(key string) bool {
	switch key {
	case `"EndpointId"`:
		return s.take("null") || s.keep(&s.request.EndpointID)
	case `"Entries"`:
		return s.take("null") || s.entries()
	default:
		return s.value(1)
	}
}

func (s *wireScan) entries() bool {
	entries := make([]wireEntry, 0, maxEntries)
	s.request.Entries = &entries
	return s.array(2, func() bool {
		entries = append(entries, wireEntry{})
		return s.object(3, func(key string) bool { return s.entryMember(&entries[len(entries)-1], key) })
	})
}

func (s *wireScan) entryMember(e *wireEntry, key string) bool {
	switch key {
	case `"Source"`:
		return s.keepNew(&e.Source)
	case `"DetailType"`:
		return s.keepNew(&e.DetailType)
	case `"Detail"`:
		return s.keepNew(&e.Detail)
	case `"EventBusName"`:
		return s.keepNew(&e.EventBusName)
	case `"TraceHeader"`:
		return s.keepNew(&e.TraceHeader)
	case `"Resources"`:
		return s.resources(e)
	case `"Time"`:
		return s.time(e)
	default:
		return s.value(3)
	}
}

func (s *wireScan) keepNew(to **string) bool {
	if s.take("null") {
		return true
	}

	*to = new(string)
	return s.keep(*to)
}

func (s *wireScan) resources(e *wireEntry) bool {
	return s.take("null") || s.array(4, func() bool {
		e.Resources = append(e.Resources, "")
		return s.keep(&e.Resources[len(e.Resources)-1])
	})
}

// time reads a time as AWS JSON has it: seconds since 1970 with a fraction, of which the SDK sends milliseconds.
func (s *wireScan) time(e *wireEntry) bool {
	start := s.pos
	if s.take("null") {
		return true
	}
	if !s.number() {
		return false
	}

	seconds, err := strconv.ParseFloat(s.text[start:s.pos], 64)
	at := time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
	e.Time = &at
	return err == nil
}
