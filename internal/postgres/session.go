package postgres

import (
	"context"

	"outboxrelay/internal/outbox"
)

// Steps that errors are told apart by.
const (
	beginStep  = "begin"
	claimStep  = "claim batch"
	failStep   = "move events to the failed table"
	commitStep = "commit"
)

// session is one connection and the transaction of its current batch.
type session struct {
	link

	store *Store
}

// Claim implements outbox.Session.
func (s *session) Claim(ctx context.Context, claim outbox.Claim) (outbox.Batch, error) {
	p := s.pipeline()
	batch := s.addClaim(p, claim)
	if err := s.run(ctx, p); err != nil {
		return outbox.Batch{}, err
	}
	err := s.afterClaim(ctx, claim, batch)
	return *batch, err
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
	err := s.afterClaim(ctx, *next, batch)
	return *batch, receipt, err
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

// afterClaim does what is to be done once a claim is known to have succeeded. It
// ends the transaction of one that found nothing, so that an idle relay leaves
// none open.
func (s *session) afterClaim(ctx context.Context, claim outbox.Claim, batch *outbox.Batch) error {
	p := s.pipeline()
	if claim.Turn == outbox.TakeTurn {
		p.add(turnStep("take a run's number", batch), s.store.queries.takeTurn, textParam(s.store.table.companion("_turn").String()))
	}
	if batch.Locked == 0 {
		p.add(commit(nil), "COMMIT")
	}
	if len(p.steps) == 0 {
		return nil
	}
	return s.run(ctx, p)
}

func (s *session) addBegin(p *pipeline) {
	p.add(step{name: beginStep}, s.store.queries.begin)
	p.add(step{name: "settings"}, s.store.queries.settings)
}
