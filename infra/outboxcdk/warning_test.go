package outboxcdk_test

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"outboxrelay/infra/outboxcdk"
)

// warnings are those of a stack.
func warnings(t *testing.T, props outboxcdk.Props) (texts []string) {
	t.Helper()
	app := newApp()
	app.Node().SetContext(jsii.String("@aws-cdk/core:annotationsInValidationReport"), false) // they are read here
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	build(t, stack, props)
	for _, found := range *assertions.Annotations_FromStack(stack).FindWarning(jsii.String("*"), assertions.Match_AnyValue()) {
		texts = append(texts, found.Entry.Data.(string)) //nolint:staticcheck // there is no other type in Go yet
	}
	return texts
}

func TestWarnsOfAnARNThatMayLackItsSuffix(t *testing.T) {
	const name = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod-outbox"
	props := minimalProps()
	props.Database.SecretArn, props.Database.Secrets = name, map[string]string{"migrate": name + "-owners", "lag": name + "-AbCdEf"}
	found := warnings(t, props)
	require.Len(t, found, 2)
	require.Contains(t, found[0], "databaseSecretArn ends in -outbox, which looks like the end of the secret's name")
	require.Contains(t, found[1], "migrateSecretArn ends in -owners, which")
	require.Contains(t, found[0], "[ack: outboxrelay:databaseSecretArn]")

	props.Database.SecretArn, props.Database.Secrets = name+"-abcde1", nil
	require.Empty(t, warnings(t, props))
}

func TestWarnsOfAPoolersPortAtTheDatabaseItself(t *testing.T) {
	props := minimalProps()
	props.Database.Host, props.Database.Port, props.Database.MigrateHost = "pooler.example", 6432, "database.example"
	found := warnings(t, props)
	require.Len(t, found, 1)
	require.Contains(t, found[0], "migratePort is not set: migrate connects to migrateHost on the port of databaseHost, 6432.")

	props.Database.MigratePort = 6432
	require.Empty(t, warnings(t, props), "it is meant so")
	props.Database.MigratePort, props.Database.Port = 0, 5432
	require.Empty(t, warnings(t, props))
}
