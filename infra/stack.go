package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"outboxrelay/infra/outboxcdk"
	"outboxrelay/infra/settings"
)

// addStack makes one for no account and Region in particular: it goes where the
// credentials of the deployment are for.
func addStack(app awscdk.App, read settings.Settings) {
	tags := make(map[string]*string, len(read.Tags))
	for key, text := range read.Tags {
		tags[key] = jsii.String(text)
	}
	stack := awscdk.NewStack(app, jsii.String(read.StackName), &awscdk.StackProps{
		Description: jsii.String("Outbox relay: moves events from a PostgreSQL table to EventBridge"),
		Tags:        &tags,
	})
	addOutputs(stack, outboxcdk.NewOutboxRelay(stack, "Outbox", read.Props))
	keepTriggerLogs(stack)
}

// keepTriggerLogs gives the function that the CDK adds to run migrate a group for
// its logs: in one that Lambda makes itself they would stay for ever. (There is one
// such function for all triggers of a stack, so that this is not the construct's.)
func keepTriggerLogs(stack awscdk.Stack) {
	provider := stack.Node().TryFindChild(jsii.String("AWSCDK.TriggerCustomResourceProviderCustomResourceProvider"))
	if provider == nil {
		return
	}
	logs := awslogs.NewLogGroup(stack, jsii.String("TriggerLogs"), &awslogs.LogGroupProps{
		Retention: awslogs.RetentionDays_ONE_MONTH, RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	function := provider.Node().FindChild(jsii.String("Handler")).(awscdk.CfnResource)
	function.AddPropertyOverride(jsii.String("LoggingConfig"), map[string]any{"LogGroup": logs.LogGroupName()})
}

// addOutputs tells a person what they will ask for.
func addOutputs(stack awscdk.Stack, relay *outboxcdk.OutboxRelay) {
	output := func(id, description string, value *string) {
		awscdk.NewCfnOutput(stack, jsii.String(id), &awscdk.CfnOutputProps{Description: jsii.String(description), Value: value})
	}
	output("AdminFunction", "Shows and redrives failed events, pauses buses: aws lambda invoke --function-name ...", relay.Admin.FunctionName())
	output("RelayFunction", "Publishes events; applications may invoke it after a commit", relay.Relay.FunctionName())
	output("CleanupFunction", "Deletes published events", relay.Cleanup.FunctionName())
	output("LagFunction", "Measures the lag", relay.Lag.FunctionName())
	output("MigrateFunction", "Makes and upgrades the tables", relay.Migrate.FunctionName())
	output("EventBusName", "Where events without a topic go", relay.EventBus.EventBusName())
	output("AlarmTopic", "Told when an alarm rings", relay.Topic.TopicArn())
	output("Dashboard", "How the outbox is", relay.Dashboard.DashboardName())
	output("FailedInvocationsQueue", "Invocations that ended in an error or were dropped", relay.FailedInvocations.QueueUrl())
	output("UndeliveredQueue", "Invocations that the schedules could not deliver", relay.Undelivered.QueueUrl())
}
