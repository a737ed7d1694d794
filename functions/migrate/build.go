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

const (
	// reserve is kept free before the deadline, for ending connections and for
	// the answer.
	reserve = 2 * time.Second
	// least is the least time that is worth a try.
	least = 3 * time.Second
)

// inTime ends the work before Lambda would.
func inTime(ctx context.Context, now time.Time) (context.Context, context.CancelFunc, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}, nil
	}
	if left := deadline.Sub(now); left < reserve+least {
		return nil, nil, fmt.Errorf("no time to migrate: %s are left before the deadline, %s are needed; give the function a longer timeout",
			left.Round(time.Millisecond), reserve+least)
	}
	inTime, cancel := context.WithDeadlineCause(ctx, deadline.Add(-reserve), errTime)
	return inTime, cancel, nil
}

var errTime = fmt.Errorf("the time of the function was used up, less a reserve of %s: "+
	"give it a longer timeout, or invoke it again, what is done stays done", reserve)
