package outboxcdk

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"outboxrelay/internal/emf"
)

// Statistics of CloudWatch. Of what the functions measure themselves an alarm
// takes Maximum: CloudWatch may count a line of metrics twice.
const (
	maximum = "Maximum"
	sum     = "Sum"
)

// Metrics of Scheduler. A schedule drops an invocation when its retries are used
// up, of which ours have none.
const (
	targetErrors       = "TargetErrorCount"
	invocationsDropped = "InvocationDroppedCount"
	invocationsLost    = "InvocationsFailedToBeSentToDeadLetterCount"
)

// own is a metric that the functions write.
func (r *OutboxRelay) own(name, statistic string, period time.Duration) awscloudwatch.Metric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace:     jsii.String(r.props.settings.lag.Outbox.MetricsNamespace),
		MetricName:    jsii.String(name),
		DimensionsMap: &map[string]*string{emf.Dimension: jsii.String(r.props.Name)},
		Statistic:     jsii.String(statistic),
		Period:        duration(period),
	})
}

// ofFunction is a metric that Lambda writes.
func ofFunction(f awslambda.Function, name, statistic string, period time.Duration) awscloudwatch.Metric {
	return f.Metric(jsii.String(name), &awscloudwatch.MetricOptions{Statistic: jsii.String(statistic), Period: duration(period)})
}

// ofSchedules is a metric that Scheduler writes of the group: its Sum.
func (r *OutboxRelay) ofSchedules(name string, period time.Duration) awscloudwatch.Metric {
	return r.ScheduleGroup.Metric(jsii.String(name), &awscloudwatch.MetricOptions{Statistic: jsii.String(sum), Period: duration(period)})
}

// undelivered is how many invocations wait in the queue of that name.
func (r *OutboxRelay) undelivered(period time.Duration) awscloudwatch.Metric {
	return r.Undelivered.MetricApproximateNumberOfMessagesVisible(&awscloudwatch.MetricOptions{
		Statistic: jsii.String(maximum), Period: duration(period),
	})
}

// math is an expression over metrics.
func math(expression string, period time.Duration, metrics map[string]awscloudwatch.IMetric) awscloudwatch.IMetric {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String(expression), UsingMetrics: &metrics, Period: duration(period),
	})
}
