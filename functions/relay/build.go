package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"outboxrelay/internal/config"
	"outboxrelay/internal/emf"
	"outboxrelay/internal/eventbridge"
	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/wire"
)

// function is what a sandbox keeps between invocations.
type function struct {
	environ []string
	out     io.Writer

	relay   *outbox.Relay // nil: not built yet
	log     *slog.Logger
	emitter *emf.Emitter
}

// build reads the settings and puts the parts together, unless that is done. It
// reaches neither the database nor EventBridge.
func (f *function) build(ctx context.Context) error {
	if f.relay != nil {
		return nil
	}
	settings, err := config.ForRelay(f.environ)
	if err != nil {
		return err
	}
	base, err := wire.NewBase(ctx, settings.Common)
	if err != nil {
		return err
	}
	f.log = base.Log
	publishing := publisherConfig(settings, f.log)
	if err := publishing.Validate(); err != nil {
		return err
	}
	store := postgres.NewStore(base.Connector.Connect, storeConfig(settings, base.Table))
	f.emitter = emf.New(f.out, settings.Outbox.MetricsNamespace, settings.Outbox.Name)
	f.relay = outbox.NewRelay(store, eventbridge.New(base.SDK, publishing), relayConfig(settings), f.log)
	return nil
}

// emit writes the metrics of a run.
func (f *function) emit(ctx context.Context, at time.Time, report outbox.Report) {
	if err := f.emitter.Emit(at, metrics(report)...); err != nil {
		f.log.ErrorContext(ctx, "metrics could not be written", "error", err)
	}
}

func storeConfig(settings config.Relay, table postgres.Table) postgres.StoreConfig {
	return postgres.StoreConfig{
		Table:           table,
		Bus:             settings.EventBridge.Bus,
		DeletePublished: settings.DeletePublished,
	}
}

func publisherConfig(settings config.Relay, log *slog.Logger) eventbridge.Config {
	return eventbridge.Config{
		DefaultSource: settings.EventBridge.Source,
		Envelope:      eventbridge.Envelope(settings.EventBridge.Envelope),
		BusCheck:      eventbridge.BusCheck(settings.EventBridge.BusCheck),
		EndpointID:    settings.EventBridge.EndpointID,
		MaxEntries:    settings.EventBridge.MaxEntries,
		MaxBytes:      settings.EventBridge.MaxBytes,
		Timeout:       settings.EventBridge.Timeout,
		Concurrency:   settings.Concurrency,
		Logger:        log,
	}
}

func relayConfig(settings config.Relay) outbox.Config {
	return outbox.Config{
		BatchSize:    settings.BatchSize,
		BatchBytes:   settings.BatchBytes,
		EventBytes:   settings.EventBridge.MaxBytes,
		Workers:      settings.Workers,
		Concurrency:  settings.Concurrency,
		MaxRate:      float64(settings.MaxRate),
		SendTimeout:  settings.EventBridge.Timeout,
		Reserve:      settings.Reserve,
		PollInterval: settings.PollInterval,
		Parallel:     settings.Parallel,
		FrontScanMax: settings.FrontScanMax,
		RetryBase:    settings.RetryBase,
		RetryMax:     settings.RetryMax,
		MaxAttempts:  settings.MaxAttempts,
	}
}
