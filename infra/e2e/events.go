package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// eventCount is more than the entries of two PutEvents requests.
const eventCount = 25

const insertEvent = `INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload) VALUES ($1, 'order', $2, $3, $4)`

var errRolledBack = errors.New("rolled back on purpose")

// event is one that the application writes.
type event struct {
	id, order, name string
	payload         string
}

// newEvents returns events with identities of their own, by these.
func newEvents(first, count int) map[string]event {
	events := make(map[string]event, count)
	for i := first; i < first+count; i++ {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		events[id] = event{
			id: id, order: strconv.Itoa(i), name: []string{"OrderPlaced", "OrderPaid"}[i%2],
			payload: fmt.Sprintf(`{"order": %d, "cents": %d90, "note": "Grüße, \"%d\""}`, i, i, i),
		}
	}
	return events
}

// write inserts events as the application does, in one transaction, which is
// committed or rolled back.
func (d *database) write(ctx context.Context, events map[string]event, commit bool) error {
	err := d.inSession(ctx, "writer", func(conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for _, id := range slices.Sorted(maps.Keys(events)) {
				e := events[id]
				if _, err := tx.Exec(ctx, insertEvent, e.id, e.order, e.name, e.payload); err != nil {
					return err
				}
			}
			if !commit {
				return errRolledBack
			}
			return nil
		})
	})
	if err != nil && (commit || !errors.Is(err, errRolledBack)) {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// ledger holds what arrived against what was committed.
type ledger struct {
	committed map[string]event
	seen      map[string]bool
}

func (l *ledger) complete() bool { return len(l.seen) == len(l.committed) }

// enter checks one event. Nothing goes wrong here that could make a second copy
// of one, so that is an error too.
func (l *ledger) enter(a arrived) error {
	id := a.Detail.Metadata.ID
	wanted, ok := l.committed[id]
	switch {
	case !ok:
		return fmt.Errorf("event %q arrived, which was never committed", id)
	case l.seen[id]:
		return fmt.Errorf("event %s arrived twice", id)
	}
	l.seen[id] = true
	if problems := wanted.compare(a); len(problems) > 0 {
		return fmt.Errorf("event %s arrived with %s", id, strings.Join(problems, ", "))
	}
	return nil
}

// compare names what is not as the application has written it.
func (e event) compare(a arrived) (problems []string) {
	check := func(what, got, wanted string) {
		if got != wanted {
			problems = append(problems, fmt.Sprintf("%s %q instead of %q", what, got, wanted))
		}
	}
	check("source", a.Source, eventSource)
	check("detail-type", a.DetailType, e.name)
	check("type", a.Detail.Metadata.Type, e.name)
	check("aggregate_type", a.Detail.Metadata.AggregateType, "order")
	check("aggregate_id", a.Detail.Metadata.AggregateID, e.order)
	check("data", canonical(a.Detail.Data), canonical([]byte(e.payload)))
	return problems
}

// canonical is a JSON text with sorted keys and no spaces, its numbers as they
// are. PostgreSQL and the bus may change the rest.
func canonical(text []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return string(text)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		return string(text)
	}
	return string(sorted)
}

// missing are the identities of what has not arrived.
func (l *ledger) missing() (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(l.committed)) {
		if !l.seen[id] {
			ids = append(ids, id)
		}
	}
	return ids
}
