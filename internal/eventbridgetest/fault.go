package eventbridgetest

import (
	"net/http"
	"sync"
	"time"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

// Fault changes what becomes of a request. Faults compose (Both, and everything Always, When and Script add up to); where
// two contradict each other the later one wins. A fault that counts belongs to one server.
type Fault interface {
	// apply is called once a request, one request at a time.
	apply(p *plan)
}

type faultFunc func(p *plan)

func (f faultFunc) apply(p *plan) { f(p) }

// plan is what the faults make of one request.
type plan struct {
	request *Request

	before, after time.Duration // pauses around the acceptance
	refusal       *awsjson.Error
	withhold      bool // nothing is accepted
	entryErrors   map[int]*entryError
	header        http.Header
	results       func([]result) []result
	body          func([]byte) []byte
	ending        ending
}

// ending is how the exchange ends.
type ending int

const (
	answers ending = iota
	drops
	hangs
	hangsMidBody
	breaksMidBody
)

// Both applies all faults given.
func Both(faults ...Fault) Fault {
	return faultFunc(func(p *plan) {
		for _, f := range faults {
			if f != nil {
				f.apply(p)
			}
		}
	})
}

// None is a place in a script where nothing goes wrong.
func None() Fault { return faultFunc(func(*plan) {}) }

// Repeat is f n times over, to spread into a Script.
func Repeat(n int, f Fault) []Fault {
	faults := make([]Fault, n)
	for i := range faults {
		faults[i] = f
	}
	return faults
}

// faultSet is what goes wrong with one operation.
type faultSet struct {
	mu     sync.Mutex
	always []Fault
	when   []func(Request) Fault
	script []Fault
}

// next makes the plan for a request. admit runs under the same lock, so that requests meet the script in the order of their
// numbers.
func (s *faultSet) next(request *Request, admit func()) *plan {
	s.mu.Lock()
	defer s.mu.Unlock()

	admit()

	p := &plan{request: request}
	Both(s.always...).apply(p)
	for _, when := range s.when {
		Both(when(*request)).apply(p)
	}
	if len(s.script) > 0 {
		Both(s.script[0]).apply(p)
		s.script = s.script[1:]
	}
	return p
}

func (s *faultSet) edit(change func(s *faultSet)) {
	s.mu.Lock()
	defer s.mu.Unlock()

	change(s)
}

// Script adds faults that one PutEvents request each meets, in order of arrival.
func (s *Server) Script(faults ...Fault) {
	s.putFaults.edit(func(set *faultSet) { set.script = append(set.script, faults...) })
}

// Always adds a fault that every PutEvents request meets.
func (s *Server) Always(fault Fault) {
	s.putFaults.edit(func(set *faultSet) { set.always = append(set.always, fault) })
}

// When adds a choice of fault (or nil) by what a PutEvents request holds. choose is called for one request at a time; it may
// ask the server what it recorded, but not change the faults.
func (s *Server) When(choose func(Request) Fault) {
	s.putFaults.edit(func(set *faultSet) { set.when = append(set.when, choose) })
}

// ScriptDescribe is Script for DescribeEventBus.
func (s *Server) ScriptDescribe(faults ...Fault) {
	s.describeFaults.edit(func(set *faultSet) { set.script = append(set.script, faults...) })
}

// AlwaysDescribe is Always for DescribeEventBus.
func (s *Server) AlwaysDescribe(fault Fault) {
	s.describeFaults.edit(func(set *faultSet) { set.always = append(set.always, fault) })
}

// Clear takes all faults of both operations back. Requests that already wait go on waiting.
func (s *Server) Clear() {
	for _, set := range []*faultSet{&s.putFaults, &s.describeFaults} {
		set.edit(func(set *faultSet) { set.always, set.when, set.script = nil, nil, nil })
	}
}
