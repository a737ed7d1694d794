package outboxcdk_test

import (
	"debug/elf"
	"os"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/stretchr/testify/require"

	"outboxrelay/infra/outboxcdk"
)

const secretArn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/relay-AbCdEf"

func minimalProps() outboxcdk.Props {
	props := outboxcdk.NewProps()
	props.BinaryDir = placeholders(elf.EM_AARCH64)
	props.Database.SecretArn = secretArn
	props.Bus.EventBus = "orders"
	return props
}

var minimal = once(func() template {
	return synthesize(func(stack awscdk.Stack) {
		outboxcdk.NewOutboxRelay(stack, "Outbox", minimalProps())
	}, nil)
})

func TestEveryFunctionIsThere(t *testing.T) {
	require.Len(t, minimal(t).resources("AWS::Scheduler::Schedule"), 3)
}

func TestDump(t *testing.T) {
	if path := os.Getenv("DUMP"); path != "" {
		require.NoError(t, os.WriteFile(path, []byte(text(t, minimal(t).root)), 0o600))
	}
}
