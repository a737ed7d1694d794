package outboxcdk

import (
	"fmt"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/jsii-runtime-go"
)

// alarm is one that is to be made. It rings while the metric is over the
// threshold, within its window.
type alarm struct {
	id string
	window
	metric    awscloudwatch.IMetric
	threshold float64
	below     bool // rings below the threshold instead
	missing   awscloudwatch.TreatMissingData
	// meaning completes "Outbox shop of the stack Shop: "; first is what to do first; section is the
	// anchor of the rest in docs/operation.md.
	meaning, first, section string
}

const (
	// Lambda, Scheduler and SQS write nothing where there is nothing to count.
	quietIsFine = awscloudwatch.TreatMissingData_NOT_BREACHING
	// What has been measured holds until it is measured again. That nobody does is
	// LagMissing's to say.
	quietIsNoNews = awscloudwatch.TreatMissingData_IGNORE
	// A heartbeat that is not heard.
	quietIsWrong = awscloudwatch.TreatMissingData_BREACHING
)

// addAlarms makes all alarms, each of which tells the topic when it rings and when
// it is over, and one that is the state of them all. That one tells nobody: it
// would say everything twice.
func (r *OutboxRelay) addAlarms() {
	r.addTopic()
	tell := awscloudwatchactions.NewSnsAction(r.Topic)
	var rules []awscloudwatch.IAlarmRule
	for _, alarm := range r.alarms() {
		made := r.newAlarm(alarm)
		made.AddAlarmAction(tell)
		made.AddOkAction(tell)
		r.Alarms = append(r.Alarms, made)
		rules = append(rules, awscloudwatch.AlarmRule_FromAlarm(made, awscloudwatch.AlarmState_ALARM))
	}
	r.Unhealthy = awscloudwatch.NewCompositeAlarm(r.Construct, jsii.String("Unhealthy"), &awscloudwatch.CompositeAlarmProps{
		AlarmDescription: jsii.String(fmt.Sprintf("Outbox %s: unhealthy. Look which of its alarms ring.", r.whose())),
		AlarmRule:        awscloudwatch.AlarmRule_AnyOf(rules...),
	})
}

func (r *OutboxRelay) newAlarm(a alarm) awscloudwatch.Alarm {
	comparison := awscloudwatch.ComparisonOperator_GREATER_THAN_THRESHOLD
	if a.below {
		comparison = awscloudwatch.ComparisonOperator_LESS_THAN_THRESHOLD
	}
	return awscloudwatch.NewAlarm(r.Construct, jsii.String(a.id), &awscloudwatch.AlarmProps{
		AlarmDescription:   jsii.String(r.describe(a)),
		Metric:             a.metric,
		EvaluationPeriods:  jsii.Number(a.periods),
		DatapointsToAlarm:  jsii.Number(a.datapoints),
		Threshold:          jsii.Number(a.threshold),
		ComparisonOperator: comparison,
		TreatMissingData:   a.missing,
	})
}

// describe is what somebody reads who has just been woken.
func (r *OutboxRelay) describe(a alarm) string {
	runbook := r.props.Alarms.RunbookURL
	if runbook == "" {
		runbook = "docs/operation.md"
	}
	return fmt.Sprintf("Outbox %s: %s. First: %s. Runbook: %s#%s", r.whose(), a.meaning, a.first, runbook, a.section)
}

// whose tells two outboxes apart whose stacks or names are alike.
func (r *OutboxRelay) whose() string {
	return fmt.Sprintf("%s of the stack %s", r.props.Name, *awscdk.Stack_Of(r.Construct).StackName())
}

// alarms are all of them, the most urgent first.
func (r *OutboxRelay) alarms() []alarm {
	return slices.Concat(r.lagAlarms(), r.errorAlarms(), r.invocationAlarms(), r.measuredAlarms())
}
