package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"outboxrelay/internal/outbox"
)

// adminSession is one connection and the transaction of an operator's action.
type adminSession struct {
	link

	store *AdminStore
}

// Find implements outbox.AdminSession.
func (s *adminSession) Find(ctx context.Context, selection outbox.Selection, toChange bool) (outbox.Found, error) {
	var found outbox.Found
	p := s.begun()
	// What is counted and what is missing is looked at once the rows are locked:
	// who has waited for another operator sees what that one has left.
	statement := s.store.queries.find
	if toChange {
		statement = s.store.queries.lock
	}
	p.add(step{name: "find failed events", row: func(r row) error {
		found.Events = append(found.Events, failedEvent(r))
		return nil
	}}, statement, filters(selection, selection.Limit)...)
	p.add(step{name: "count failed events", row: func(r row) error {
		found.Matched = int(r.int8(0))
		return nil
	}}, s.store.queries.count, filters(selection, outbox.CountMost)...)
	known := map[string]bool{}
	if len(selection.IDs) > 0 {
		p.add(step{name: "look for missing ids", row: func(r row) error {
			known[r.text(0)] = true
			return nil
		}}, s.store.queries.known, textsParam(selection.IDs))
	}
	if !toChange {
		p.add(commit(nil), "COMMIT")
	}
	err := s.runWithin(ctx, findLimit, p)
	found.Missing = slices.DeleteFunc(slices.Clone(selection.IDs), func(id string) bool { return known[id] })
	return found, err
}

const (
	// adminStatement is how long a statement may take.
	adminStatement = 15 * time.Second
	// findLimit bounds Find, of which three statements may have to look at every
	// failed event.
	findLimit = 2*adminStatement + callLimit
)

// filters are the parameters of the statements that select failed events.
func filters(selection outbox.Selection, limit int) []param {
	return []param{
		textsParam(selection.IDs),
		textParam(selection.EventType),
		textParam(selection.ErrorCode),
		timeParam(selection.FailedBefore),
		int8Param(int64(limit)),
	}
}

// failedEvent reads a row of admin_find.sql.
func failedEvent(r row) outbox.FailedEvent {
	created, _ := r.time(7)
	failed, _ := r.time(8)
	return outbox.FailedEvent{
		Seq:           r.int8(0),
		ID:            r.text(1),
		Type:          r.text(2),
		AggregateType: r.text(3),
		AggregateID:   r.text(4),
		Topic:         r.text(5),
		Source:        r.text(6),
		CreatedAt:     created,
		FailedAt:      failed,
		ErrorCode:     r.text(9),
		ErrorMessage:  r.text(10),
		Attempts:      r.int4(11),
		TimesFailed:   r.int4(12),
	}
}

// Discard implements outbox.AdminSession.
func (s *adminSession) Discard(ctx context.Context, seqs []int64) ([]int64, error) {
	var gone []int64
	p := s.pipeline()
	p.add(step{name: "discard failed events", row: func(r row) error {
		gone = append(gone, r.int8(0))
		return nil
	}}, s.store.queries.discard, int8sParam(seqs))
	err := s.runAndCommit(ctx, p)
	return gone, err
}

// Pause implements outbox.AdminSession.
func (s *adminSession) Pause(ctx context.Context, bus, reason string) (outbox.AdminResult, error) {
	var result outbox.AdminResult
	p := s.begun()
	p.add(step{name: "pause bus", row: func(r row) error {
		result.Matched, result.Changed = int(r.int8(0)), int(r.int8(1))
		return nil
	}}, s.store.queries.pause, textParam(bus), textParam(reason))
	err := s.runAndCommit(ctx, p)
	return result, err
}

// Resume implements outbox.AdminSession.
func (s *adminSession) Resume(ctx context.Context, bus string) (resumed bool, paused []outbox.PausedBus, err error) {
	p := s.begun()
	p.add(step{name: "resume bus", row: func(row) error {
		resumed = true
		return nil
	}}, s.store.queries.resume, textParam(bus))
	s.addPaused(p, &paused)
	err = s.runAndCommit(ctx, p)
	return resumed, paused, err
}

// Overview implements outbox.AdminSession.
func (s *adminSession) Overview(ctx context.Context) (paused []outbox.PausedBus, failedBy []outbox.FailedBy, err error) {
	p := s.begun()
	s.addPaused(p, &paused)
	p.add(step{name: "count failed events by code", row: func(r row) error {
		failedBy = append(failedBy, outbox.FailedBy{ErrorCode: r.text(0), Count: int(r.int8(1))})
		return nil
	}}, s.store.queries.byCode, int8Param(outbox.CountMost))
	p.add(commit(nil), "COMMIT")
	err = s.run(ctx, p)
	return paused, failedBy, err
}

func (s *adminSession) addPaused(p *pipeline, paused *[]outbox.PausedBus) {
	p.add(step{name: "list paused buses", row: func(r row) error {
		since, _ := r.time(2)
		*paused = append(*paused, outbox.PausedBus{Bus: r.text(0), Reason: r.text(1), Since: since})
		return nil
	}}, s.store.queries.pausedBuses)
}

// begun is a pipeline that opens the action's transaction.
func (s *adminSession) begun() *pipeline {
	p := s.pipeline()
	p.add(step{name: beginStep}, s.store.queries.begin)
	p.add(step{name: "settings"}, s.store.queries.settings, int8Param(adminStatement.Milliseconds()))
	return p
}

func (s *adminSession) run(ctx context.Context, p *pipeline) error {
	return s.runWithin(ctx, callLimit, p)
}

// runWithin adds what an operator can do to an error.
func (s *adminSession) runWithin(ctx context.Context, limit time.Duration, p *pipeline) error {
	err := s.link.runWithin(ctx, limit, p)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case checkViolation:
			return fmt.Errorf("%w; a constraint or the lack of a partition for its created_at keeps an event out: make a place for it or leave it out", err)
		case noConflictTarget:
			return fmt.Errorf("%w; a table beside %s lacks its primary key: compare it with what make schema prints", err, s.table)
		case queryCanceled:
			return fmt.Errorf("%w; choose fewer events, by limit or by narrower filters", err)
		}
	}
	return err
}

// runAndCommit commits in the same round trip as the statements, which are not
// known to have taken place where the connection is lost meanwhile.
func (s *adminSession) runAndCommit(ctx context.Context, p *pipeline) error {
	committed := false
	p.add(commit(func() { committed = true }), "COMMIT")
	err := s.run(ctx, p)
	if err == nil || committed {
		return nil // an error after the commit changes nothing about it
	}
	if undoneBeforeCommit(err) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, outbox.ErrUncertain)
}

// undoneBeforeCommit reports that the server refused a statement: it skips the
// commit then. An error that ends the connection says nothing of the kind. A
// pooler sends one in the place of any answer, when it has lost its server.
func undoneBeforeCommit(err error) bool {
	pg, answered := errors.AsType[*pgconn.PgError](err)
	if step := stepOf(err); !answered || step == "" || step == commitStep {
		return false
	}
	switch cmp.Or(pg.SeverityUnlocalized, pg.Severity) {
	case "FATAL", "PANIC":
		return false
	}
	return class(pg.Code) != "08" && !strings.HasPrefix(pg.Code, "57P")
}
