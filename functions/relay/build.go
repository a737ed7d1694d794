package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"outboxrelay/internal/config"
	"outboxrelay/internal/emf"
	"outboxrelay/internal/eventbridge"
	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
)

// parts are what a sandbox keeps between invocations.
type parts struct {
	relay *outbox.Relay
	log   *slog.Logger
	emit  func(at time.Time, report outbox.Report)
}

// build reads the settings and puts the parts together. It reaches neither the
// database nor EventBridge.
func build(ctx context.Context, environ []string, out io.Writer) (*parts, error) {
	settings, err := config.ForRelay(environ)
	if err != nil {
		return nil, err
	}
	aws, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the AWS SDK's settings: %w", err)
	}
	log := newLogger(settings.LogLevel).With("outbox", settings.Outbox.Name)
	publishing := publisherConfig(settings, log)
	if err := publishing.Validate(); err != nil {
		return nil, err
	}
	connector, err := postgres.NewConnector(connectSettings(settings.Database), secretsmanager.NewFromConfig(aws))
	if err != nil {
		return nil, err
	}
	store := postgres.NewStore(connector.Connect, storeConfig(settings))
	metricsOut := emf.New(out, settings.Outbox.MetricsNamespace, settings.Outbox.Name)
	return &parts{
		relay: outbox.NewRelay(store, eventbridge.New(aws, publishing), relayConfig(settings), log),
		log:   log,
		emit: func(at time.Time, report outbox.Report) {
			if err := metricsOut.Emit(at, metrics(report)...); err != nil {
				log.Error("metrics could not be written", "error", err)
			}
		},
	}, nil
}

func connectSettings(database config.Database) postgres.Settings {
	return postgres.Settings{
		URL:            database.URL,
		SecretARN:      database.SecretARN,
		ConnectTimeout: database.ConnectTimeout,
		Host:           database.Host,
		Port:           database.Port,
		Database:       database.Name,
		SSLMode:        database.SSLMode,
	}
}

func storeConfig(settings config.Relay) postgres.StoreConfig {
	return postgres.StoreConfig{
		Table:           postgres.Table(settings.Outbox.Table),
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
		FrontScanMax: settings.FrontScanMax,
		RetryBase:    settings.RetryBase,
		RetryMax:     settings.RetryMax,
		MaxAttempts:  settings.MaxAttempts,
	}
}
