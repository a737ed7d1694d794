package wire

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"outboxrelay/internal/config"
	"outboxrelay/internal/postgres"
)

// Base is what every function is built on.
type Base struct {
	Log *slog.Logger
	// SDK are the settings of the AWS SDK, which logs as the function does.
	SDK       aws.Config
	Connector *postgres.Connector
	Table     postgres.Table
}

// NewBase puts it together. It reaches neither the database nor AWS.
func NewBase(ctx context.Context, settings config.Common) (Base, error) {
	limitMemory(settings)
	log := newLogger(settings.LogLevel, settings.Outbox.Name)
	sdk, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithLogger(sdkLogger{log}))
	if err != nil {
		return Base{}, fmt.Errorf("read the AWS SDK's settings: %w", err)
	}
	connector, err := newConnector(settings.Database, sdk)
	if err != nil {
		return Base{}, err
	}
	return Base{Log: log, SDK: sdk, Connector: connector, Table: postgres.Table(settings.Outbox.Table)}, nil
}

// limitMemory has the garbage collector work harder before the function's memory
// is used up: Lambda kills a function that takes more. A quarter is left to what
// is not Go's.
func limitMemory(settings config.Common) {
	if settings.MemoryMB > 0 && !settings.MemoryLimited {
		debug.SetMemoryLimit(int64(settings.MemoryMB) << 20 / 4 * 3)
	}
}

func newConnector(database config.Database, sdk aws.Config) (_ *postgres.Connector, err error) {
	settings := postgres.Settings{
		URL:            database.URL,
		SecretARN:      database.SecretARN,
		ConnectTimeout: database.ConnectTimeout,
		Host:           database.Host,
		Port:           database.Port,
		Database:       database.Name,
		User:           database.User,
		SSLMode:        database.SSLMode,
	}
	if database.IAMAuth {
		if settings.Sign, err = postgres.RDSSigner(sdk); err != nil {
			return nil, err
		}
	}
	return postgres.NewConnector(settings, secretsmanager.NewFromConfig(sdk))
}
