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

// event is a row of the outbox as its producer writes it.
type event struct {
	id     string
	kind   string // event_type
	source string // "": null
	topic  string // "": null
	data   order
	doomed bool // PostgreSQL takes it and EventBridge never will
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
// published where n says so.
func eventsOf(n int, data order) []event {
	events := []event{{id: newID(), kind: "OrderPlaced", topic: ordersBus, data: data}}
	if n%3 != 0 {
		events = append(events, event{id: newID(), kind: "PaymentRequested", source: "shop.payment", data: data})
	}
	if n%3 == 1 {
		events = append(events, event{id: newID(), kind: "StockReserved", source: "shop.stock", data: data})
	}
	last := &events[len(events)-1]
	switch n % 100 {
	case 10: // the prefix aws. is reserved
		last.source, last.doomed = "aws.demo", true
	case 35: // 128 characters are allowed
		last.kind, last.doomed = strings.Repeat("x", 129), true
	}
	return events
}

// newID is a random UUID, version 4.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	text := hex.EncodeToString(id[:])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}
