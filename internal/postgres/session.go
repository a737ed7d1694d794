package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"outboxrelay/internal/outbox"
)

const (
	// claimLimit bounds a claim with the settling before it: the server's own
	// statement_timeout comes first unless the network is what hangs.
	claimLimit = 14 * time.Second
	closeLimit = 2 * time.Second
)

// session is one connection and the transaction of its current batch.
type session struct {
	conn  *pgx.Conn
	store *Store
}

// Claim implements outbox.Session.
func (s *session) Claim(ctx context.Context, claim outbox.Claim) (outbox.Batch, error) {
	p := s.pipeline()
	batch := s.addClaim(p, claim)
	if err := s.run(ctx, p); err != nil {
		return outbox.Batch{}, err
	}
	return *batch, s.endEmpty(ctx, *batch)
}

// Settle implements outbox.Session.
func (s *session) Settle(ctx context.Context, settlement outbox.Settlement, next *outbox.Claim) (outbox.Batch, bool, error) {
	var settled bool
	p := s.pipeline()
	written := s.addSettlement(p, settlement)
	p.add(step{name: "commit", done: func(pgconn.CommandTag) { settled = true }}, "COMMIT")
	batch := &outbox.Batch{}
	if next != nil {
		batch = s.addClaim(p, *next)
	}
	if err := s.run(ctx, p); err != nil {
		return outbox.Batch{}, settled, err
	}
	if err := written.missing(settlement); err != nil {
		return outbox.Batch{}, settled, err
	}
	if next == nil {
		return outbox.Batch{}, settled, nil
	}
	return *batch, settled, s.endEmpty(ctx, *batch)
}

// Record implements outbox.Session.
func (s *session) Record(ctx context.Context, settlement outbox.Settlement) error {
	p := s.pipeline()
	s.addBegin(p)
	s.addSettlement(p, settlement)
	p.add(step{name: "commit"}, "COMMIT")
	return s.run(ctx, p)
}

// Close implements outbox.Session.
func (s *session) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	_ = s.conn.Close(ctx) // nothing is owed: the server rolls back what is open
}

// endEmpty ends the transaction of a claim that found nothing, so that an idle
// relay leaves none open.
func (s *session) endEmpty(ctx context.Context, batch outbox.Batch) error {
	if batch.Locked > 0 {
		return nil
	}
	p := s.pipeline()
	p.add(step{name: "commit"}, "COMMIT")
	return s.run(ctx, p)
}

func (s *session) pipeline() *pipeline { return &pipeline{conn: s.conn} }

func (s *session) run(ctx context.Context, p *pipeline) error {
	ctx, cancel := context.WithTimeoutCause(ctx, claimLimit,
		fmt.Errorf("the database did not answer within %s", claimLimit))
	defer cancel()
	err := p.run(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return explain(s.store.table, err)
}

func (s *session) addBegin(p *pipeline) {
	p.add(step{name: "begin"}, s.store.queries.begin)
	p.add(step{name: "settings"}, s.store.queries.settings)
}
