package main

import (
	"context"
	"io"
	"log/slog"

	"outboxrelay/internal/config"
	"outboxrelay/internal/emf"
	"outboxrelay/internal/outbox"
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
	base, err := wire.NewBase(ctx, settings.Common)
	if err != nil {
		return err
	}
	f.log = base.Log
	f.emitter = emf.New(f.out, settings.Outbox.MetricsNamespace, settings.Outbox.Name)
	f.probe = base.LagProbe(settings)
	return nil
}
