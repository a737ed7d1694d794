package eventbridge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABusIsGivenByItsNameOrARN(t *testing.T) {
	t.Parallel()

	const account = "arn:aws:events:eu-west-1:123456789012:event-bus/"
	for bus, ok := range map[string]bool{
		"default": true, "my.bus-1_x": true, "aws.partner/shop/x": true, strings.Repeat("x", 1600): true,
		account + "orders": true, "arn:aws-us-gov:events:us-gov-east-1:123456789012:event-bus/a/b": true,
		"": false, " ": false, "my bus": false, "größe": false, "a\x00": false, "a:b": false, strings.Repeat("x", 1601): false,
		account: false, account + "my bus": false, "arn:": false, "arn:aws:events:eu-west-1:123456789012:rule/x": false,
		"arn:aws:sqs:eu-west-1:123456789012:event-bus/x": false, "arn:aws:events:eu-west-1:1234:event-bus/x": false,
		"arn:aws:events:eu-west-1:12345678901x:event-bus/x": false, "arn:event-bus/x": false, account + "a:event-bus/b": false,
	} {
		require.Equal(t, ok, validBus(bus), bus)
	}

	require.Equal(t, "orders", busName(account+"orders"))
	require.Equal(t, "orders", busName("orders"))
}
