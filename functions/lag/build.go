package main

import (
	"context"
	"io"
	"log/slog"

	"outboxrelay/internal/config"
	"outboxrelay/internal/emf"
	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/wire"
)

// function is what a sandbox keeps between invocations.
type function struct {
	environ []string
	out     io.Writer

	probe   *outbox.LagProbe // nil: not built yet
	log     *slog.Logger
	emitter *emf.Emitter
}

// build reads the settings and puts the parts together, unless that is done. It
// does not reach the database.
func (f *function) build(ctx context.Context) error {
	if f.probe != nil {
		return nil
	}
	settings, err := config.ForLag(f.environ)
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
	store := postgres.NewLagStore(connector.Connect, postgres.LagConfig{
		Table:      postgres.Table(settings.Outbox.Table),
		Bus:        settings.Bus,
		CountLimit: settings.CountLimit,
	})
	f.emitter = emf.New(f.out, settings.Outbox.MetricsNamespace, settings.Outbox.Name)
	f.probe = outbox.NewLagProbe(store, f.log)
	return nil
}
