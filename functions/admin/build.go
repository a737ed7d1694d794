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
	base, err := wire.NewBase(ctx, settings.Common)
	if err != nil {
		return err
	}
	f.log = base.Log
	f.admin = outbox.NewAdmin(postgres.NewAdminStore(base.Connector.Connect, base.Table), base.LagProbe(settings))
	return nil
}
