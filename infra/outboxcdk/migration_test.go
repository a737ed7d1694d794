package outboxcdk_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func dependsOn(r resource, id string) bool {
	return slices.Contains(elements(r.body["DependsOn"]), any(id))
}

func TestMigrateRunsWhenItsCodeOrSettingsChange(t *testing.T) {
	trigger := minimal(t).withPrefix(t, "Custom::Trigger", "OutboxMigration")
	version := minimal(t).withPrefix(t, "AWS::Lambda::Version", "OutboxMigrateCurrentVersion")
	require.Equal(t, object{"Ref": version.id}, trigger.properties["HandlerArn"])
	require.Equal(t, true, trigger.properties["ExecuteOnHandlerChange"])
	require.Equal(t, "RequestResponse", trigger.properties["InvocationType"], "its failure is the deployment's")

	other := everything(t).withPrefix(t, "AWS::Lambda::Version", "OutboxMigrateCurrentVersion")
	require.NotEqual(t, version.id, other.id, "other settings are another version, which is invoked")
}

func TestMigrateRunsBeforeTheSchedulesAndBeforeOtherFunctionsChange(t *testing.T) {
	for name, variant := range map[string]template{"minimal": minimal(t), "everything": everything(t)} {
		trigger := variant.withPrefix(t, "Custom::Trigger", "OutboxMigration").id
		for _, schedule := range variant.resources("AWS::Scheduler::Schedule") {
			require.True(t, dependsOn(schedule, trigger), "%s: %s", name, schedule.id)
		}
		for function, resource := range variant.functions(t) {
			require.Equal(t, function != "migrate", dependsOn(resource, trigger), "%s: %s", name, function)
		}
	}
}

func TestMigrateRunsOnceTheDatabaseCanBeReached(t *testing.T) {
	trigger := everything(t).withPrefix(t, "Custom::Trigger", "OutboxMigration")
	kinds := []string{
		"AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress", "AWS::EC2::VPCEndpoint",
	}
	for _, kind := range kinds {
		found := everything(t).resources(kind)
		require.NotEmpty(t, found, kind)
		for _, resource := range found {
			require.True(t, dependsOn(trigger, resource.id), resource.id)
		}
	}
	require.True(t, dependsOn(everything(t).function(t, "migrate"), everything(t).withPrefix(t, "AWS::IAM::Policy", "OutboxMigrateRole").id))
}

func TestTheDeploymentWaitsLongerThanMigrateTakes(t *testing.T) {
	require.Less(t, minimal(t).function(t, "migrate").properties["Timeout"], 900.0)
	provider := minimal(t).withPrefix(t, "AWS::Lambda::Function", "AWSCDKTrigger")
	require.InDelta(t, 900, provider.properties["Timeout"], 0)
	require.Equal(t, "900000", minimal(t).withPrefix(t, "Custom::Trigger", "").properties["Timeout"])
}

func TestMigrateIsNotRunForTeamsWithTheirOwnMigrations(t *testing.T) {
	require.Empty(t, turnedOff(t).resources("Custom::Trigger"))
	require.Empty(t, turnedOff(t).resources("AWS::Lambda::Version"))
	for _, function := range turnedOff(t).resources("AWS::Lambda::Function") {
		require.True(t, strings.HasPrefix(function.id, "Outbox"), function.id)
	}
}
