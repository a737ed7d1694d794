package outboxcdk_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoARNIsOfAPartitionThatTheStackIsNotIn(t *testing.T) {
	arn := regexp.MustCompile(`arn:(aws[\w-]*):`)
	for name, variant := range map[string]func(*testing.T) template{"aws-us-gov": govCloud, "aws-cn": china} {
		t.Run(name, func(t *testing.T) {
			content := text(t, variant(t).root)
			require.Regexp(t, arn, content, "there are some to look at")
			for _, found := range arn.FindAllStringSubmatch(content, -1) {
				require.Equal(t, name, found[1])
			}
		})
	}
	require.NotContains(t, text(t, byIam(t).root), "arn:aws", "a stack of no Region in particular has only what it was given")
}

func TestOtherPartitionsHaveAllThatThereIs(t *testing.T) {
	for name, variant := range map[string]func(*testing.T) template{"GovCloud": govCloud, "China": china} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, variant(t).functions(t), 5)
			require.Equal(t, everything(t).invoked(), variant(t).invoked())
		})
	}
}

// names that are fixed would clash in an account; that of the group of the
// schedules is made from the stack's and the construct's.
func TestTwoOutboxesDoNotClash(t *testing.T) {
	named := regexp.MustCompile(`^(FunctionName|RoleName|LogGroupName|QueueName|TopicName|AlarmName|DashboardName|ArchiveName|PolicyName)$`)
	seen := map[string]string{}
	for id, body := range twoOutboxes(t).root["Resources"].(object) {
		properties, _ := at(body, "Properties").(object)
		for key, value := range properties {
			name, fixed := value.(string)
			if !fixed || (!named.MatchString(key) && key != "Name") {
				continue
			}
			require.NotContains(t, seen, key+" "+name, id)
			seen[key+" "+name] = id
			if key != "PolicyName" { // which is of its role
				require.Regexp(t, `^Test-?(Shop|Billing)`, name, "%s: %s", id, key)
			}
		}
	}
	require.Len(t, twoOutboxes(t).resources("AWS::Scheduler::ScheduleGroup"), 2)
	require.Len(t, twoOutboxes(t).resources("AWS::Scheduler::Schedule"), 6)
}
