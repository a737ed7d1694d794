package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"outboxrelay/internal/outbox"
)

// Steps that errors are told apart by.
const (
	beginStep = "begin"
	claimStep = "claim batch"
)

const (
	// callLimit bounds one round trip: a settling and the claim after it. The
	// server's own limits come first unless the network is what hangs.
	callLimit  = 20 * time.Second
	closeLimit = 500 * time.Millisecond
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
func (s *session) Settle(ctx context.Context, settlement outbox.Settlement, next *outbox.Claim) (outbox.Batch, outbox.Receipt, error) {
	var receipt outbox.Receipt
	p := s.pipeline()
	changed := s.addSettlement(p, settlement)
	p.add(commit(func() { receipt = outbox.Receipt{Committed: true, Missing: changed.missing(settlement)} }), "COMMIT")
	batch := &outbox.Batch{}
	if next != nil {
		batch = s.addClaim(p, *next)
	}
	if err := s.run(ctx, p); err != nil {
		return outbox.Batch{}, receipt, err
	}
	if next == nil {
		return outbox.Batch{}, receipt, nil
	}
	return *batch, receipt, s.endEmpty(ctx, *batch)
}

// Record implements outbox.Session.
func (s *session) Record(ctx context.Context, settlement outbox.Settlement) error {
	p := s.pipeline()
	s.addBegin(p)
	p.add(step{name: "settling"}, s.store.queries.settling)
	s.addSettlement(p, settlement)
	p.add(commit(nil), "COMMIT")
	return s.run(ctx, p)
}

// Close implements outbox.Session.
func (s *session) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	_ = s.conn.Close(ctx) // nothing is owed: the server rolls back what is open
	// Of a connection that failed the driver takes leave in the background, for
	// up to 15 seconds. That is not to outlive the invocation.
	select {
	case <-s.conn.PgConn().CleanupDone():
	case <-ctx.Done():
		_ = s.conn.PgConn().Conn().Close()
	}
}

// endEmpty ends the transaction of a claim that found nothing, so that an idle
// relay leaves none open.
func (s *session) endEmpty(ctx context.Context, batch outbox.Batch) error {
	if batch.Locked > 0 {
		return nil
	}
	p := s.pipeline()
	p.add(commit(nil), "COMMIT")
	return s.run(ctx, p)
}

// commit is the step that ends a transaction. The server answers it with a
// rollback, and no error, where the transaction has failed.
func commit(committed func()) step {
	return step{name: "commit", done: func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("the server answered %q", tag)
		}
		if committed != nil {
			committed()
		}
		return nil
	}}
}

func (s *session) pipeline() *pipeline { return &pipeline{conn: s.conn} }

func (s *session) run(ctx context.Context, p *pipeline) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callLimit,
		fmt.Errorf("the database did not answer within %s", callLimit))
	defer cancel()
	err := p.run(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return explain(s.store.table, err)
}

func (s *session) addBegin(p *pipeline) {
	p.add(step{name: beginStep}, s.store.queries.begin)
	p.add(step{name: "settings"}, s.store.queries.settings)
}
