package main

import (
	"context"
	"log/slog"

	"outboxrelay/internal/config"
	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/wire"
)

// function is what a sandbox keeps between invocations.
type function struct {
	environ []string

	admin *outbox.Admin // nil: not built yet
	log   *slog.Logger
}

// build reads the settings and puts the parts together, unless that is done. It
// does not reach the database.
func (f *function) build(ctx context.Context) error {
	if f.admin != nil {
		return nil
	}
	settings, err := config.ForAdmin(f.environ)
	if err != nil {
		return err
	}
	f.log = wire.Logger(settings.LogLevel, settings.Outbox.Name)
	sdk, err := wire.AWS(ctx, f.log)
	if err != nil {
		return err
	}
	connector, err := wire.Connector(sdk, settings.Database)
	if err != nil {
		return err
	}
	table := postgres.Table(settings.Outbox.Table)
	lag := outbox.NewLagProbe(postgres.NewLagStore(connector.Connect, postgres.LagConfig{
		Table:      table,
		Bus:        settings.Bus,
		CountLimit: settings.CountLimit,
	}), f.log)
	f.admin = outbox.NewAdmin(postgres.NewAdminStore(connector.Connect, table), lag)
	return nil
}
