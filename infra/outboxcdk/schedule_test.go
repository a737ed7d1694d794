package outboxcdk_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// invoked counts the schedules by function and expression.
func (v template) invoked() map[string]int {
	count := map[string]int{}
	for _, schedule := range v.resources("AWS::Scheduler::Schedule") {
		function := at(schedule.properties, "Target", "Arn", "Fn::GetAtt", 0).(string)
		name := strings.TrimPrefix(function[:len(function)-8], "Outbox")
		count[name+" "+schedule.properties["ScheduleExpression"].(string)]++
	}
	return count
}

func TestSchedulesAreOfTheFunctionsThatRunByThemselves(t *testing.T) {
	require.Equal(t, map[string]int{
		"Relay rate(1 minute)": 1, "Cleanup rate(5 minutes)": 1, "Lag rate(1 minute)": 1,
	}, minimal(t).invoked())
	require.Equal(t, map[string]int{
		"Relay rate(5 minutes)": 1, "Cleanup rate(1 hour)": 1, "Lag rate(1 minute)": 1,
	}, slow(t).invoked())
}

func TestEachParallelRelayHasAScheduleAndPartitionsAreKeptDaily(t *testing.T) {
	require.Equal(t, map[string]int{
		"Relay rate(1 minute)": 2, "Cleanup rate(5 minutes)": 1, "Lag rate(1 minute)": 1, "Migrate rate(1 day)": 1,
	}, everything(t).invoked())
}

func TestSchedulesAreInAGroupOfTheirOwnWithoutNames(t *testing.T) {
	groups := minimal(t).resources("AWS::Scheduler::ScheduleGroup")
	require.Len(t, groups, 1)
	for _, schedule := range minimal(t).resources("AWS::Scheduler::Schedule") {
		require.Equal(t, groups[0].properties["Name"], schedule.properties["GroupName"], schedule.id)
		require.NotContains(t, schedule.properties, "Name", schedule.id)
	}
}

func TestSchedulesDoNotPileUp(t *testing.T) {
	queue := minimal(t).withPrefix(t, "AWS::SQS::Queue", "OutboxUndelivered")
	for _, schedule := range minimal(t).resources("AWS::Scheduler::Schedule") {
		target := schedule.properties["Target"]
		require.InDelta(t, 0, at(target, "RetryPolicy", "MaximumRetryAttempts"), 0, schedule.id)
		require.InDelta(t, 60, at(target, "RetryPolicy", "MaximumEventAgeInSeconds"), 0, schedule.id)
		require.Equal(t, queue.arn(), at(target, "DeadLetterConfig", "Arn"), schedule.id)
		require.Equal(t, "OFF", at(schedule.properties, "FlexibleTimeWindow", "Mode"), schedule.id)
		require.Equal(t, "{}", at(target, "Input"), schedule.id)
	}
}

func TestSchedulesMayInvokeExactlyTheirFunctions(t *testing.T) {
	for name, variant := range map[string]template{"minimal": minimal(t), "everything": everything(t)} {
		role := variant.withPrefix(t, "AWS::IAM::Role", "OutboxSchedulerRole")
		targets := map[string]bool{}
		for _, schedule := range variant.resources("AWS::Scheduler::Schedule") {
			require.Equal(t, role.arn(), at(schedule.properties, "Target", "RoleArn"), name)
			targets[text(t, at(schedule.properties, "Target", "Arn"))] = true
		}
		allowed := map[string]bool{}
		for _, arn := range at(role.properties, "Policies", 0, "PolicyDocument", "Statement", 0, "Resource").([]any) {
			allowed[text(t, arn)] = true
		}
		require.Equal(t, targets, allowed, name)
		require.Equal(t, "lambda:InvokeFunction", at(role.properties, "Policies", 0, "PolicyDocument", "Statement", 0, "Action"), name)
		require.Equal(t, object{
			"Action": "sqs:SendMessage", "Effect": "Allow", "Resource": variant.withPrefix(t, "AWS::SQS::Queue", "OutboxUndelivered").arn(),
		}, at(role.properties, "Policies", 1, "PolicyDocument", "Statement", 0), name)
		require.Nil(t, at(role.properties, "Policies", 2), name)
		for _, policy := range variant.resources("AWS::IAM::Policy") {
			require.NotContains(t, text(t, policy.properties["Roles"]), role.id, "%s: nothing is added to it", name)
		}
	}
}

func TestNobodyElsesScheduleMayUseTheRole(t *testing.T) {
	group := minimal(t).resources("AWS::Scheduler::ScheduleGroup")[0]
	role := minimal(t).withPrefix(t, "AWS::IAM::Role", "OutboxSchedulerRole")
	trusted := at(role.properties, "AssumeRolePolicyDocument", "Statement", 0)
	require.Equal(t, "scheduler.amazonaws.com", at(trusted, "Principal", "Service"))
	require.Equal(t, group.arn(), at(trusted, "Condition", "StringEquals", "aws:SourceArn"))
	require.Equal(t, object{"Ref": "AWS::AccountId"}, at(trusted, "Condition", "StringEquals", "aws:SourceAccount"))
}

func TestSchedulesAreThereButOffBeforeACutOver(t *testing.T) {
	for _, schedule := range minimal(t).resources("AWS::Scheduler::Schedule") {
		require.Equal(t, "ENABLED", schedule.properties["State"])
	}
	schedules := turnedOff(t).resources("AWS::Scheduler::Schedule")
	require.Len(t, schedules, 3)
	for _, schedule := range schedules {
		require.Equal(t, "DISABLED", schedule.properties["State"], schedule.id)
	}
}
