package outboxcdk_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// function is one of the relay's, by its name.
func (v template) function(t *testing.T, name string) resource {
	t.Helper()
	for _, function := range v.resources("AWS::Lambda::Function") {
		if strings.HasPrefix(function.id, "Outbox"+strings.ToUpper(name[:1])+name[1:]) {
			return function
		}
	}
	require.Fail(t, "no function "+name)
	return resource{}
}

// functions are all of the relay's, without the provider that the CDK adds.
func (v template) functions(t *testing.T) map[string]resource {
	t.Helper()
	functions := map[string]resource{}
	for _, name := range []string{"relay", "cleanup", "lag", "migrate", "admin"} {
		functions[name] = v.function(t, name)
	}
	return functions
}

func variables(function resource) object {
	return at(function.properties, "Environment", "Variables").(object)
}

func TestFunctionsRunOnArmUnlessTheSettingSaysOtherwise(t *testing.T) {
	for name, function := range minimal(t).functions(t) {
		require.Equal(t, []any{"arm64"}, function.properties["Architectures"], name)
		require.Equal(t, "provided.al2023", function.properties["Runtime"], name)
		require.Equal(t, "bootstrap", function.properties["Handler"], name)
	}
	for name, function := range everything(t).functions(t) {
		require.Equal(t, []any{"x86_64"}, function.properties["Architectures"], name)
	}
}

func TestFunctionsHaveTheirSizes(t *testing.T) {
	for name, timeout := range map[string]float64{"relay": 60, "cleanup": 60, "lag": 30, "migrate": 840, "admin": 60} {
		function := minimal(t).function(t, name)
		require.InDelta(t, timeout, function.properties["Timeout"], 0, name)
		require.InDelta(t, 256, function.properties["MemorySize"], 0, name)
	}
	require.InDelta(t, 512, everything(t).function(t, "relay").properties["MemorySize"], 0)
}

func TestAPollingRelayHasTwoPeriodsAndItsReserve(t *testing.T) {
	require.InDelta(t, 2*60+7+10, everything(t).function(t, "relay").properties["Timeout"], 0)
}

func TestAllFunctionsAgreeOnTheOutbox(t *testing.T) {
	for name, function := range everything(t).functions(t) {
		require.Equal(t, "shop", variables(function)["OUTBOX_NAME"], name)
		require.Equal(t, `shop."Outbox"`, variables(function)["OUTBOX_TABLE"], name)
		require.Equal(t, "72h", variables(function)["CLEANUP_RETENTION"], name)
		require.Equal(t, everything(t).reference(t, "AWS::Events::EventBus"), variables(function)["EVENT_BUS"], name)
		require.Equal(t, "orders", variables(minimal(t).function(t, name))["EVENT_BUS"], name)
	}
}

func TestOnlyTheRelayKnowsHowManyThereAre(t *testing.T) {
	for name, function := range everything(t).functions(t) {
		expected := map[string]any{"relay": "2"}[name]
		require.Equal(t, expected, variables(function)["RELAY_PARALLEL"], name)
	}
}

func TestNothingIsSetThatWasNotGiven(t *testing.T) {
	require.Equal(t, object{
		"DATABASE_SECRET_ARN": secretArn, "EVENT_BUS": "orders", "OUTBOX_NAME": "outbox", "OUTBOX_TABLE": "public.outbox",
	}, variables(minimal(t).function(t, "relay")))
}

func TestLogsAreJSONInAGroupWithRetentionAndNoNameOfItsOwn(t *testing.T) {
	groups := map[string]resource{}
	for _, group := range everything(t).resources("AWS::Logs::LogGroup") {
		groups[group.id] = group
	}
	for name, function := range everything(t).functions(t) {
		require.Equal(t, "JSON", at(function.properties, "LoggingConfig", "LogFormat"), name)
		group, ok := groups[at(function.properties, "LoggingConfig", "LogGroup", "Ref").(string)]
		require.True(t, ok, name)
		require.NotContains(t, group.properties, "LogGroupName", name)
		require.InDelta(t, 7, group.properties["RetentionInDays"], 0, name)
		require.Equal(t, "Delete", group.body["DeletionPolicy"], name)
		delete(groups, group.id)
	}
	require.Empty(t, groups, "each function has a group of its own")
}

func TestLambdasFilterOfTheLogFollowsTheLogLevel(t *testing.T) {
	require.Equal(t, "INFO", at(minimal(t).function(t, "relay").properties, "LoggingConfig", "ApplicationLogLevel"))
	require.Equal(t, "DEBUG", at(everything(t).function(t, "relay").properties, "LoggingConfig", "ApplicationLogLevel"))
}

func TestConcurrencyIsReservedOnlyWhereAsked(t *testing.T) {
	for name, function := range minimal(t).functions(t) {
		require.NotContains(t, function.properties, "ReservedConcurrentExecutions", name)
	}
	for name, function := range everything(t).functions(t) {
		expected := map[string]any{"relay": 4.0}[name]
		require.Equal(t, expected, function.properties["ReservedConcurrentExecutions"], name)
	}
}

func TestAsynchronousInvocationsAreNotRetriedAndFailuresAreKept(t *testing.T) {
	configured := map[any]resource{}
	for _, config := range minimal(t).resources("AWS::Lambda::EventInvokeConfig") {
		configured[at(config.properties, "FunctionName", "Ref")] = config
	}
	queue := minimal(t).withPrefix(t, "AWS::SQS::Queue", "OutboxFailedInvocations")
	for name, function := range minimal(t).functions(t) {
		config, ok := configured[function.id]
		require.True(t, ok, name)
		require.InDelta(t, 0, config.properties["MaximumRetryAttempts"], 0, name)
		require.InDelta(t, 60, config.properties["MaximumEventAgeInSeconds"], 0, name)
		require.Equal(t, queue.arn(), at(config.properties, "DestinationConfig", "OnFailure", "Destination"), name)
	}
}

func TestQueuesAreEncryptedAndTakeNoPlaintext(t *testing.T) {
	queues := minimal(t).resources("AWS::SQS::Queue")
	require.Len(t, queues, 2)
	policies := text(t, minimal(t).resources("AWS::SQS::QueuePolicy")[0].properties) + text(t, minimal(t).resources("AWS::SQS::QueuePolicy")[1].properties)
	for _, queue := range queues {
		require.Equal(t, true, queue.properties["SqsManagedSseEnabled"], queue.id)
		require.Contains(t, policies, `"Condition":{"Bool":{"aws:SecureTransport":"false"}},"Effect":"Deny","Principal":{"AWS":"*"},"Resource":{"Fn::GetAtt":["`+queue.id)
	}
}

func TestTheRelayIsAConstructThatCanBeGivenToTheCDK(t *testing.T) {
	for name, function := range embedded(t).functions(t) {
		require.Equal(t, []any{object{"Key": "team", "Value": "shop"}}, function.properties["Tags"], name)
	}
}
