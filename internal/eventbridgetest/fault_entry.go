package eventbridgetest

import "slices"

// Match selects entries of a request; index counts from 0.
type Match func(index int, e Entry) bool

// Index selects entries by their place in the request, from 0.
func Index(indexes ...int) Match {
	return func(index int, _ Entry) bool { return slices.Contains(indexes, index) }
}

// ID selects entries by the event's identity.
func ID(ids ...string) Match {
	return func(_ int, e Entry) bool { return slices.Contains(ids, e.ID) }
}

// DetailType selects entries by their detail type.
func DetailType(types ...string) Match {
	return func(_ int, e Entry) bool { return slices.Contains(types, e.DetailType) }
}

// Source selects entries by their source.
func Source(sources ...string) Match {
	return func(_ int, e Entry) bool { return slices.Contains(sources, e.Source) }
}

// Bus selects entries by their bus, given by name or ARN as the entry may be.
func Bus(buses ...string) Match {
	return func(_ int, e Entry) bool {
		return slices.ContainsFunc(buses, func(bus string) bool { return busARN(bus) == busARN(e.Bus) })
	}
}

// EntryFault fails single entries of a request that is otherwise answered with 200.
type EntryFault struct {
	fault    entryError
	matches  []Match
	times    int // in all, -1: always
	each     int // an event, -1: always
	failures map[string]int
}

// FailEntries fails the entries that all matches select; without a match, every entry.
func FailEntries(code, message string, matches ...Match) *EntryFault {
	return &EntryFault{fault: entryError{code, message}, matches: matches, times: -1, each: -1, failures: map[string]int{}}
}

// Times fails only the first n entries selected.
func (f *EntryFault) Times(n int) *EntryFault {
	f.times = n
	return f
}

// TimesEach fails every selected event (by its ID) only the first n times it is sent.
func (f *EntryFault) TimesEach(n int) *EntryFault {
	f.each = n
	return f
}

func (f *EntryFault) apply(p *plan) {
	for i, e := range p.request.Entries {
		if !f.selects(i, e) || !f.spend(e.ID) {
			continue
		}
		if p.entryErrors == nil {
			p.entryErrors = map[int]*entryError{}
		}

		p.entryErrors[i] = &f.fault
	}
}

func (f *EntryFault) selects(i int, e Entry) bool {
	return !slices.ContainsFunc(f.matches, func(match Match) bool { return !match(i, e) })
}

// spend takes one of the failures that are left.
func (f *EntryFault) spend(id string) bool {
	if f.times == 0 || f.each >= 0 && f.failures[id] >= f.each {
		return false
	}
	if f.times > 0 {
		f.times--
	}
	if f.each >= 0 {
		f.failures[id]++
	}
	return true
}
