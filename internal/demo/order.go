package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// order is the business change, and the data of its events.
type order struct {
	Number   int    `json:"number"`
	Customer string `json:"customer"`
	Cents    int    `json:"cents"`
	Note     string `json:"note"`
}

// flaw is what is wrong with an event: PostgreSQL takes it and EventBridge does
// not.
type flaw int

const (
	sound          flaw = iota
	reservedSource      // the prefix aws. is AWS's own
	longKind            // 128 characters are allowed
	tooLarge            // for a request; nothing can be done about it
)

const (
	// reservedPrefix and ownPrefix are of the source: before it is mended, and
	// after.
	reservedPrefix, ownPrefix = "aws.", "shop."
	// defaultSource is that of events without one.
	defaultSource = "outbox"
)

// largeNote is more than a request may carry.
var largeNote = strings.Repeat("·", 600_000)

// event is a row of the outbox as its producer writes it.
type event struct {
	id     string
	kind   string // event_type
	source string // "": null
	topic  string // "": null
	data   order
	flaw   flaw
}

// delivered is how the event has to arrive: mended, where something is wrong
// with it.
func (e event) delivered() arrival {
	a := arrival{id: e.id, kind: e.kind, source: e.source, data: e.data}
	if a.source == "" {
		a.source = defaultSource
	}
	switch e.flaw {
	case reservedSource:
		a.source = ownPrefix + strings.TrimPrefix(e.source, reservedPrefix)
	case longKind:
		a.kind, _, _ = strings.Cut(e.kind, "/")
	case sound, tooLarge:
	}
	return a
}

// transaction is what a producer does at once.
type transaction struct {
	order     order
	events    []event
	open      time.Duration // it stays so before it ends
	rollsBack bool
}

// newTransaction makes the n-th transaction. What is special about it follows
// from n, so that every run has some of each kind.
func newTransaction(n int) transaction {
	t := transaction{
		order: order{
			Number:   n,
			Customer: fmt.Sprintf("customer-%d", n%97),
			Cents:    100 + n*37%10_000,
			Note:     "\"Grüße\" & <Küsse> 🎁 \\ " + strings.Repeat("·", n%200),
		},
		rollsBack: n%10 == 9,
	}
	if n%20 == 5 || n%20 == 19 {
		t.open = time.Duration(200+n%7*150) * time.Millisecond
	}
	t.events = eventsOf(n, t.order)
	return t
}

// eventsOf makes one to three events of the n-th order. The last one cannot be
// published as it is where n says so.
func eventsOf(n int, data order) []event {
	events := []event{{id: newID(), kind: "OrderPlaced", topic: ordersBus, data: data}}
	if n%3 != 0 {
		events = append(events, event{id: newID(), kind: "PaymentRequested", source: "shop.payment", data: data})
	}
	if n%3 == 1 {
		events = append(events, event{id: newID(), kind: "StockReserved", source: "shop.stock", data: data})
	}
	events[len(events)-1].spoil(n)
	return events
}

func (e *event) spoil(n int) {
	switch n % 100 {
	case 10:
		e.flaw, e.source = reservedSource, reservedPrefix+"demo"
	case 35:
		e.flaw, e.kind = longKind, e.kind+"/"+strings.Repeat("x", 128-len(e.kind))
	case 60:
		e.flaw, e.data.Note = tooLarge, largeNote
	}
}

// newID is a random UUID, version 4.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	text := hex.EncodeToString(id[:])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}
