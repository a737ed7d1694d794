package main

import (
	"context"
	_ "embed"
	"fmt"
	"time"
)

// tooLargeCode is what the relay calls an event that no request can carry.
const tooLargeCode = "EventTooLarge"

//go:embed sql/mend_source.sql
var mendSourceSQL string

//go:embed sql/mend_type.sql
var mendTypeSQL string

// repair is what the operator did about the events that failed.
type repair struct {
	failures  map[string]failure // before, by id
	began     time.Time          // the moving back
	discarded []string           // ids
	redriven  []string           // ids
}

// mend does what an operator would about the events that failed: what cannot be
// helped is discarded, the rest is mended by SQL and moved back for the relay.
func (p *play) mend(ctx context.Context) (err error) {
	if p.repair.failures, err = readFailures(ctx, p.stage.database.URL()); err != nil {
		return fmt.Errorf("read the failed table: %w", err)
	}
	if err := p.operator.expect(ctx, len(p.repair.failures)); err != nil {
		return err
	}
	p.progress.say("%d events failed; the operator looks after them", len(p.repair.failures))
	if p.repair.discarded, err = p.operator.change(ctx, "discard", adminEvent{"error_code": tooLargeCode}); err != nil {
		return err
	}
	if err := p.mendBySQL(ctx); err != nil {
		return err
	}
	p.repair.began = time.Now()
	p.repair.redriven, err = p.operator.change(ctx, "redrive", adminEvent{"all": true})
	return err
}

// mendBySQL logs in as the owner of the tables: the function admin changes no
// event.
func (p *play) mendBySQL(ctx context.Context) error {
	sources, err := affect(ctx, p.stage.owner.URL, mendSourceSQL)
	if err != nil {
		return fmt.Errorf("mend sources: %w", err)
	}
	types, err := affect(ctx, p.stage.owner.URL, mendTypeSQL)
	if err != nil {
		return fmt.Errorf("mend types: %w", err)
	}
	p.progress.say("mended by SQL: %d events of a source %s* (now %s*), %d of a type over 128 characters (now shorter)",
		sources, reservedPrefix, ownPrefix, types)
	return nil
}
