package main

import (
	"context"
	"io"
	"log/slog"
	"time"

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

	cleaner *outbox.Cleaner // nil: not built yet
	log     *slog.Logger
	emitter *emf.Emitter
}

// build reads the settings and puts the parts together, unless that is done. It
// does not reach the database.
func (f *function) build(ctx context.Context) error {
	if f.cleaner != nil {
		return nil
	}
	settings, err := config.ForCleanup(f.environ)
	if err != nil {
		return err
	}
	base, err := wire.NewBase(ctx, settings.Common)
	if err != nil {
		return err
	}
	f.log = base.Log
	store := postgres.NewCleanupStore(base.Connector.Connect, base.Table)
	f.emitter = emf.New(f.out, settings.Outbox.MetricsNamespace, settings.Outbox.Name)
	f.cleaner = outbox.NewCleaner(store, cleanerConfig(settings), f.log)
	return nil
}

func cleanerConfig(settings config.Cleanup) outbox.CleanerConfig {
	return outbox.CleanerConfig{
		Retention:       settings.Retention,
		FailedRetention: settings.FailedRetention,
		BatchSize:       settings.BatchSize,
		Pause:           settings.Pause,
	}
}

// emit tells CloudWatch what a run did, also when that is nothing.
func (f *function) emit(ctx context.Context, at time.Time, report outbox.CleanupReport) {
	rows := float64(report.Deleted + report.DeletedFailed)
	if err := f.emitter.Emit(at, emf.One(emf.RowsDeleted, emf.Count, rows)); err != nil {
		f.log.ErrorContext(ctx, "metrics could not be written", "error", err)
	}
}
