package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// createSecrets makes a secret for each function, in the form that Secrets
// Manager has for databases, and returns their ARNs by function.
func createSecrets(ctx context.Context, config aws.Config, d *database) (map[string]string, error) {
	client := secretsmanager.NewFromConfig(config)
	arns := make(map[string]string, len(functionNames))
	for _, function := range functionNames {
		text, err := secretText(d, function)
		if err != nil {
			return nil, err
		}
		created, err := client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{
			Name: aws.String("shop/outbox-" + function), SecretString: aws.String(text),
		})
		if err != nil {
			return nil, fmt.Errorf("create a secret: %w", err)
		}
		arns[function] = *created.ARN
	}
	return arns, nil
}

func secretText(d *database, function string) (string, error) {
	login := d.logins[function]
	text, err := json.Marshal(map[string]any{
		"engine": "postgres", "host": "127.0.0.1", "port": d.server.Port(), "dbname": d.Name,
		"username": login.Name, "password": login.Password,
	})
	return string(text), err
}
