package outboxcdk_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"outboxrelay/infra/outboxcdk"
)

// withAlarms is a template of other settings of the alarms.
func withAlarms(change func(*outboxcdk.Props)) func(*testing.T) template {
	return once(func() template {
		return synthesize(func(stack awscdk.Stack) {
			props := minimalProps()
			change(&props)
			outboxcdk.NewOutboxRelay(stack, "Outbox", props)
		}, nil)
	})
}

var (
	heard = withAlarms(func(p *outboxcdk.Props) {
		p.Alarms.Email, p.Alarms.Encrypted, p.Alarms.RunbookURL = "ops@example.com", true, "https://example.com/runbook"
		p.Alarms.Lag = 150 * time.Second
		p.Environment = map[string]string{"CLEANUP_RETENTION": "48h", "METRICS_NAMESPACE": "Shop", "PARTITION_INTERVAL": "day"}
	})
	given = withAlarms(func(p *outboxcdk.Props) {
		p.Alarms.TopicArn = "arn:aws:sns:eu-west-1:123456789012:pager"
	})
	unscheduled = withAlarms(func(p *outboxcdk.Props) {
		p.Scheduled = false
		p.Environment = map[string]string{"PARTITION_INTERVAL": "day"}
	})
	// rarely has a cleanup that cannot but keep events for a day longer.
	rarely = withAlarms(func(p *outboxcdk.Props) { p.Cleanup.Every = 24 * time.Hour })
	// wordy has the longest names there are.
	wordy = once(func() template {
		return synthesize(func(stack awscdk.Stack) {
			props := minimalProps()
			props.Name, props.Alarms.RunbookURL = strings.Repeat("n", 64), "https://"+strings.Repeat("u", 500)
			props.Environment = map[string]string{"PARTITION_INTERVAL": "day"}
			outboxcdk.NewOutboxRelay(stack, "Outbox", props)
		}, &awscdk.StackProps{StackName: jsii.String(strings.Repeat("s", 128))})
	})
)

func TestEachAlarmTellsTheTopicWhenItRingsAndWhenItIsOver(t *testing.T) {
	for name, of := range map[string]template{"made": minimal(t), "given": given(t)} {
		topic := `"arn:aws:sns:eu-west-1:123456789012:pager"`
		if name == "made" {
			topic = text(t, object{"Ref": of.resources("AWS::SNS::Topic")[0].id})
		}
		for _, alarm := range of.resources("AWS::CloudWatch::Alarm") {
			for _, when := range []string{"AlarmActions", "OKActions"} {
				require.JSONEq(t, "["+topic+"]", text(t, alarm.properties[when]), "%s of %s", when, alarm.id)
			}
			require.NotContains(t, alarm.properties, "ActionsEnabled", alarm.id)
		}
	}
	require.Empty(t, given(t).resources("AWS::SNS::Topic"))
}

func TestUnhealthyIsAllAlarmsAndTellsNobody(t *testing.T) {
	unhealthy := minimal(t).resources("AWS::CloudWatch::CompositeAlarm")[0].properties
	rule := text(t, unhealthy["AlarmRule"])
	alarms := minimal(t).resources("AWS::CloudWatch::Alarm")
	for _, alarm := range alarms {
		require.Contains(t, rule, `"Fn::GetAtt":["`+alarm.id+`","Arn"]`)
	}
	require.Equal(t, len(alarms)-1, strings.Count(rule, " OR "))
	for _, when := range []string{"AlarmActions", "OKActions", "InsufficientDataActions"} {
		require.NotContains(t, unhealthy, when)
	}
}

var anchor = regexp.MustCompile(`#([a-z-]+)$`)

// headings are those of docs/operation.md, as the address of a section has them.
func headings(t *testing.T) (anchors []string) {
	t.Helper()
	document, err := os.ReadFile("../../docs/operation.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(document)) {
		if heading, is := strings.CutPrefix(line, "## "); is {
			anchors = append(anchors, strings.ReplaceAll(strings.ToLower(strings.TrimSpace(heading)), " ", "-"))
		}
	}
	return anchors
}

func TestEachAlarmSaysWhatToDoFirstAndWhereToReadOn(t *testing.T) {
	sections := headings(t)
	for runbook, of := range map[string]template{"docs/operation.md": unscheduled(t), "https://example.com/runbook": heard(t)} {
		for _, alarm := range of.resources("AWS::CloudWatch::Alarm") {
			description := alarm.properties["AlarmDescription"].(string)
			require.Regexp(t, `^Outbox outbox of the stack Test: \S.*\. First: \S.*\. Runbook: `+regexp.QuoteMeta(runbook)+`#`, description)
			require.Contains(t, sections, anchor.FindStringSubmatch(description)[1], alarm.id)
		}
	}
}

// CloudWatch takes 1024 characters.
func TestDescriptionsAreShortEnoughWhateverTheNames(t *testing.T) {
	alarms := append(wordy(t).resources("AWS::CloudWatch::Alarm"), wordy(t).resources("AWS::CloudWatch::CompositeAlarm")...)
	require.Len(t, alarms, 19)
	for _, alarm := range alarms {
		description := alarm.properties["AlarmDescription"].(string)
		require.Contains(t, description, "Outbox "+strings.Repeat("n", 64)+" of the stack "+strings.Repeat("s", 128)+": ", alarm.id)
		require.LessOrEqual(t, len(description), 1024, alarm.id)
	}
}

// Just before it runs the cleanup has kept events for a whole period.
func TestARareCleanupIsGivenTwoOfItsPeriods(t *testing.T) {
	for of, hours := range map[string]float64{"rare": 9 * 24, "default": 8 * 24} {
		template := map[string]template{"rare": rarely(t), "default": minimal(t)}[of]
		behind := template.withPrefix(t, "AWS::CloudWatch::Alarm", "OutboxCleanupBehind").properties
		require.InDelta(t, hours*3600, behind["Threshold"], 0, of)
	}
	rare := rarely(t).withPrefix(t, "AWS::CloudWatch::Alarm", "OutboxCleanupBehind").properties
	require.Contains(t, rare["AlarmDescription"], "published events are kept for 48 hours longer")
}

// Each alarm is described by name in the section that it leads to.
func TestEachSectionNamesItsAlarms(t *testing.T) {
	bytes, err := os.ReadFile("../../docs/operation.md")
	require.NoError(t, err)
	for _, alarm := range heard(t).resources("AWS::CloudWatch::Alarm") {
		section := strings.ReplaceAll(anchor.FindStringSubmatch(alarm.properties["AlarmDescription"].(string))[1], "-", " ")
		_, after, found := strings.Cut(strings.ToLower(string(bytes)), "\n## "+section+"\n")
		require.True(t, found, section)
		body, _, _ := strings.Cut(after, "\n## ")
		require.Contains(t, body, "`"+strings.ToLower(construct(alarm.id))+"`", section)
	}
}

func TestThresholdsFollowTheSettings(t *testing.T) {
	for name, want := range map[string]float64{"LagHigh": 150, "CleanupBehind": 3 * 24 * 3600, "FailedEvents": 0} {
		for _, alarm := range heard(t).resources("AWS::CloudWatch::Alarm") {
			if construct(alarm.id) != name {
				continue
			}
			require.InDelta(t, want, alarm.properties["Threshold"], 0, name)
			require.Equal(t, "Shop", alarm.properties["Namespace"], name)
			require.Equal(t, "Maximum", alarm.properties["Statistic"], name)
		}
	}
}

func TestWithoutSchedulesNoHeartbeatIsExpected(t *testing.T) {
	var names []string
	for _, alarm := range unscheduled(t).resources("AWS::CloudWatch::Alarm") {
		names = append(names, construct(alarm.id))
		require.NotEqual(t, "breaching", alarm.properties["TreatMissingData"], alarm.id)
	}
	require.Len(t, names, 15)
	require.NotContains(t, names, "LagMissing")
	require.NotContains(t, names, "RelayNotInvoked")
	require.NotContains(t, names, "MigrateNotInvoked")
}

func TestAlarmsOfThisAccountAreLetToTheTopicAndItsKey(t *testing.T) {
	condition := `"Condition":{"ArnLike":{"aws:SourceArn":{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":cloudwatch:",{"Ref":"AWS::Region"},":",` +
		`{"Ref":"AWS::AccountId"},":alarm:*"]]}},"StringEquals":{"aws:SourceAccount":{"Ref":"AWS::AccountId"}}},"Effect":"Allow",` +
		`"Principal":{"Service":"cloudwatch.amazonaws.com"}`
	topic := text(t, heard(t).resources("AWS::SNS::TopicPolicy")[0].properties)
	require.Contains(t, topic, `{"Action":"sns:Publish",`+condition)
	require.Contains(t, topic, `"Condition":{"Bool":{"aws:SecureTransport":"false"}},"Effect":"Deny"`)
	key := heard(t).resources("AWS::KMS::Key")[0]
	require.Contains(t, text(t, key.properties), `{"Action":["kms:Decrypt","kms:GenerateDataKey*"],"Effect":"Allow","Principal":{"Service":"cloudwatch.amazonaws.com"}`)
	require.Equal(t, true, key.properties["EnableKeyRotation"])
	require.Contains(t, text(t, heard(t).resources("AWS::SNS::Topic")[0].properties["KmsMasterKeyId"]), key.id)
	require.Empty(t, minimal(t).resources("AWS::KMS::Key"))
	require.NotContains(t, minimal(t).resources("AWS::SNS::Topic")[0].properties, "KmsMasterKeyId")
}

func TestTheAddressIsSubscribed(t *testing.T) {
	subscriptions := heard(t).resources("AWS::SNS::Subscription")
	require.Len(t, subscriptions, 1)
	require.Equal(t, []any{"email", "ops@example.com"}, []any{subscriptions[0].properties["Protocol"], subscriptions[0].properties["Endpoint"]})
	require.Empty(t, minimal(t).resources("AWS::SNS::Subscription"))
}

var shell = regexp.MustCompile("(?s)```sh\n(.*?)```")

// A migrate that is not run daily has no heartbeat.
func TestOnlyADailyMigrateIsExpected(t *testing.T) {
	require.NotContains(t, text(t, minimal(t).root), "MigrateNotInvoked")
	require.Contains(t, text(t, everything(t).root), "MigrateNotInvoked")
}

// The commands ask for outputs that the stack has.
func TestTheCommandsOfTheRunbookAreShellAndKnowTheOutputs(t *testing.T) {
	document, err := os.ReadFile("../../docs/operation.md")
	require.NoError(t, err)
	stack, err := os.ReadFile("../stack.go")
	require.NoError(t, err)
	block := shell.FindSubmatch(document)
	script := `aws() { case $* in *describe-stacks*) echo "$*" | sed "s/.*OutputKey=='\(.*\)'.*/\1/" ;; *) echo "aws $*" ;; esac; }` +
		"\n" + string(block[1]) + "\n" + `run Relay; admin '{"a": 1}'; logs Lag`
	output, err := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script).CombinedOutput()
	require.NoError(t, err, string(output))
	require.Equal(t, `aws lambda invoke --cli-read-timeout 0 --function-name RelayFunction --cli-binary-format raw-in-base64-out --payload {} /dev/stdout
aws lambda invoke --cli-read-timeout 0 --function-name AdminFunction --cli-binary-format raw-in-base64-out --payload {"a": 1} /dev/stdout
aws logs tail --since 15m --format short aws lambda get-function-configuration --function-name LagFunction --query LoggingConfig.LogGroup --output text
`, string(output))
	for _, used := range regexp.MustCompile(`\$\(output (\w+)|(?:run|logs) ([A-Z]\w+)`).FindAllSubmatch(document, -1) {
		name := string(used[1])
		if name == "" {
			name = string(used[2]) + "Function"
		}
		require.Contains(t, string(stack), `output("`+name+`"`, name)
	}
}

// Heartbeats fill what is missing. Should CloudWatch have nothing to fill, as of a
// metric that never was, they have to ring all the same.
func TestMissingDataIsBreachingForHeartbeatsAndForNothingElse(t *testing.T) {
	heartbeats := []string{"LagMissing", "RelayNotInvoked", "MigrateNotInvoked"}
	for _, alarm := range everything(t).resources("AWS::CloudWatch::Alarm") {
		expected := "notBreaching" // of what AWS writes only where there is something to count
		switch {
		case slices.Contains(heartbeats, construct(alarm.id)):
			expected = "breaching"
		case alarm.properties["Namespace"] == "OutboxRelay":
			expected = "ignore" // until it is measured again
		}
		require.Equal(t, expected, alarm.properties["TreatMissingData"], alarm.id)
	}
}

// lagThreshold is that of a stack with another period of the relay.
func lagThreshold(t *testing.T, change func(*outboxcdk.Props)) any {
	t.Helper()
	return withAlarms(change)(t).withPrefix(t, "AWS::CloudWatch::Alarm", "OutboxLagHigh").properties["Threshold"]
}

func TestTheThresholdOfTheLagFollowsFromHowOftenTheRelayRuns(t *testing.T) {
	every := func(period time.Duration) func(*outboxcdk.Props) {
		return func(p *outboxcdk.Props) { p.Relay.Every = period }
	}
	require.InDelta(t, 5*60, lagThreshold(t, every(time.Minute)), 0)
	require.InDelta(t, 32*60, lagThreshold(t, every(15*time.Minute)), 0, "one run may fail")
	require.InDelta(t, (48*60+2)*60, lagThreshold(t, every(24*time.Hour)), 0)
	require.InDelta(t, 5*60, lagThreshold(t, func(p *outboxcdk.Props) {
		p.Relay.Every, p.Environment["RELAY_POLL_INTERVAL"] = 13*time.Minute, "1s"
	}), 0, "a run is always at work")
	require.InDelta(t, 16*60, lagThreshold(t, func(p *outboxcdk.Props) {
		p.Relay.Every, p.Alarms.Lag = 15*time.Minute, 16*time.Minute
	}), 0, "given")
}
