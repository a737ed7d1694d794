package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"outboxrelay/internal/config"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/wire"
)

// function is what a sandbox keeps between invocations.
type function struct {
	environ []string

	migrator *postgres.Migrator // nil: not built yet
	log      *slog.Logger
}

// build reads the settings and puts the parts together, unless that is done. It
// does not reach the database.
func (f *function) build(ctx context.Context) error {
	if f.migrator != nil {
		return nil
	}
	settings, err := config.ForMigrate(f.environ)
	if err != nil {
		return err
	}
	base, err := wire.NewBase(ctx, settings.Common)
	if err != nil {
		return err
	}
	f.log = base.Log
	f.migrator = postgres.NewMigrator(base.Connector.Connect, postgres.MigrateConfig{
		Table:     base.Table,
		Interval:  settings.PartitionInterval,
		Ahead:     settings.PartitionAhead,
		Retention: settings.Retention,
	}, f.log)
	return nil
}

// reserve is kept free before the deadline, for ending connections and for the
// answer.
const reserve = 2 * time.Second

// inTime ends the work before Lambda would.
func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, deadline.Add(-reserve), errTime)
}

var errTime = fmt.Errorf("the time of the function was used up, less a reserve of %s: "+
	"give it a longer timeout, or invoke it again, what is done stays done", reserve)
