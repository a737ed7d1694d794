package relaytest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// SecretARN is where the login's secret is, in the stand-in for Secrets Manager.
const SecretARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:outbox/relay-AbCdEf"

// BySecret are the settings of a function that logs in by the secret.
func BySecret(secretsURL string) Settings {
	return Settings{
		"DATABASE_URL":                     Unset,
		"DATABASE_SECRET_ARN":              SecretARN,
		"AWS_ENDPOINT_URL_SECRETS_MANAGER": secretsURL,
		"PGSSLMODE":                        "disable",
	}
}

// Secret is what RDS keeps for a login to the scene's database.
func (s *Scene) Secret(t *testing.T, user, password string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"engine": "postgres", "host": "127.0.0.1", "port": s.DB.Server.Port(), "dbname": s.DB.Name,
		"username": user, "password": password,
	})
	require.NoError(t, err)
	return string(text)
}
