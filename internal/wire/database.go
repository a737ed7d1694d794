package wire

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"outboxrelay/internal/config"
	"outboxrelay/internal/postgres"
)

// AWS reads the settings of the AWS SDK, which then logs as the function does.
func AWS(ctx context.Context, log *slog.Logger) (aws.Config, error) {
	settings, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithLogger(sdkLogger{log}))
	if err != nil {
		return aws.Config{}, fmt.Errorf("read the AWS SDK's settings: %w", err)
	}
	return settings, nil
}

// Connector returns what opens connections to the database. It reaches neither
// the database nor AWS yet.
func Connector(sdk aws.Config, database config.Database) (*postgres.Connector, error) {
	return postgres.NewConnector(postgres.Settings{
		URL:            database.URL,
		SecretARN:      database.SecretARN,
		ConnectTimeout: database.ConnectTimeout,
		Host:           database.Host,
		Port:           database.Port,
		Database:       database.Name,
		SSLMode:        database.SSLMode,
	}, secretsmanager.NewFromConfig(sdk))
}
