package eventbridgetest

import (
	"strings"
	"time"
)

// Entry is one entry of a PutEvents request as it arrived.
type Entry struct {
	// ID is the event's identity as the relay sends it: a "urn:uuid:" resource, else metadata.id of the detail, else its id
	// (CloudEvents). Empty when there is none.
	ID string

	Bus         string // name or ARN as sent, "" where the entry names none (the default bus)
	Source      string
	DetailType  string
	Detail      string // byte for byte
	Resources   []string
	Time        time.Time // UTC, zero where the entry has none
	TraceHeader string

	// Size by AWS's formula: 14 for a Time, and the bytes of Source, DetailType, Detail and every resource.
	Size int

	fault *entryError // what its own content makes of it
}

func (r *wireRequest) entries() []Entry {
	if r.Entries == nil {
		return nil
	}

	entries := make([]Entry, len(*r.Entries))
	for i := range *r.Entries {
		entries[i] = (*r.Entries)[i].entry()
	}
	return entries
}

func (w *wireEntry) entry() Entry {
	e := Entry{
		Bus: text(w.EventBusName), Source: text(w.Source), DetailType: text(w.DetailType), Detail: text(w.Detail),
		Resources: w.Resources, TraceHeader: text(w.TraceHeader),
	}
	if w.Time != nil {
		e.Time = *w.Time
	}

	e.Size = e.size(w.Time != nil)

	detail := scanDetail(e.Detail)
	e.ID = identity(e.Resources, detail)
	e.fault = checkEntry(w, detail.ok)
	return e
}

// size follows https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html#eb-putevent-size.
func (e *Entry) size(timed bool) int {
	size := len(e.Source) + len(e.DetailType) + len(e.Detail)
	if timed {
		size += 14
	}
	for _, resource := range e.Resources {
		size += len(resource)
	}
	return size
}

// identity prefers the resource: where the relay sends one the detail is the application's own, and may have an id of its own.
func identity(resources []string, detail detailScan) string {
	for _, resource := range resources {
		if id, ok := strings.CutPrefix(resource, "urn:uuid:"); ok {
			return id
		}
	}
	if detail.metadataID != "" {
		return detail.metadataID
	}
	return detail.id
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
