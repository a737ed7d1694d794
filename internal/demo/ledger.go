package main

import (
	"slices"
	"sync"
	"time"
)

// fate is what became of a transaction.
type fate int

const (
	unknown fate = iota // it has not ended, or its COMMIT was not answered
	committed
	rolledBack
)

// entry is an event in the ledger.
type entry struct {
	event

	fate        fate
	openedAt    time.Time // before it was written
	committedAt time.Time // zero where it is not known
}

// ledger is the producers' own record of what they did. It is kept apart from
// everything that it is held against at the end.
type ledger struct {
	mu        sync.Mutex
	entries   []*entry
	committed int
}

// open notes events before they are written, so that none can arrive that the
// ledger has not heard of.
func (l *ledger) open(events []event, at time.Time) []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := len(l.entries)
	for _, e := range events {
		l.entries = append(l.entries, &entry{event: e, openedAt: at})
	}
	return slices.Clone(l.entries[from:])
}

// settle notes how the transaction of these entries ended.
func (l *ledger) settle(entries []*entry, fate fate, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range entries {
		e.fate = fate
		if fate == committed {
			e.committedAt = at
			l.committed++
		}
	}
}

// committedSoFar counts events.
func (l *ledger) committedSoFar() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.committed
}

// unresolved lists the orders whose commit was not answered.
func (l *ledger) unresolved() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	var orders []int
	for _, e := range l.entries {
		if e.fate == unknown {
			orders = append(orders, e.data.Number)
		}
	}
	return orders
}

// resolve settles those by the orders that are there.
func (l *ledger) resolve(written []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		switch {
		case e.fate != unknown:
		case slices.Contains(written, e.data.Number):
			e.fate = committed
			l.committed++
		default:
			e.fate = rolledBack
		}
	}
}

// all returns the entries as they are now.
func (l *ledger) all() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := make([]entry, len(l.entries))
	for i, e := range l.entries {
		entries[i] = *e
	}
	return entries
}
