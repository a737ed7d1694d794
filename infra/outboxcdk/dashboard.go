package outboxcdk

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"outboxrelay/internal/emf"
)

// CloudWatch's grid has 24 columns: three graphs in a row.
const (
	gridWidth   = 24
	graphWidth  = gridWidth / 3
	graphHeight = 6
)

// graph is what a widget shows over time.
type graph struct {
	title, unit string
	lines       []awscloudwatch.IMetric
	// limit is where an alarm rings; none: 0.
	limit float64
}

// addDashboard makes the dashboard: the alarms, then what they watch in the same
// order, then what explains it.
func (r *OutboxRelay) addDashboard() {
	widgets := []awscloudwatch.IWidget{r.alarmStatus()}
	for _, graph := range r.graphs() {
		widgets = append(widgets, graph.widget())
	}
	r.Dashboard = awscloudwatch.NewDashboard(r.Construct, jsii.String("Dashboard"), nil)
	r.Dashboard.AddWidgets(widgets...)
}

func (r *OutboxRelay) alarmStatus() awscloudwatch.IWidget {
	alarms := []interfacesawscloudwatch.IAlarmRef{r.Unhealthy}
	for _, alarm := range r.Alarms {
		alarms = append(alarms, alarm)
	}
	return awscloudwatch.NewAlarmStatusWidget(&awscloudwatch.AlarmStatusWidgetProps{
		Title: jsii.String("Outbox " + r.props.Name), Alarms: &alarms,
		Width: jsii.Number(gridWidth), Height: jsii.Number(4),
	})
}

func (g graph) widget() awscloudwatch.IWidget {
	props := &awscloudwatch.GraphWidgetProps{
		Title: jsii.String(g.title), Left: &g.lines,
		LeftYAxis: &awscloudwatch.YAxisProps{Label: jsii.String(g.unit), Min: jsii.Number(0), ShowUnits: jsii.Bool(false)},
		Width:     jsii.Number(graphWidth), Height: jsii.Number(graphHeight),
	}
	if g.limit > 0 {
		props.LeftAnnotations = &[]*awscloudwatch.HorizontalAnnotation{{
			Label: jsii.String("alarm"), Value: jsii.Number(g.limit), Color: awscloudwatch.Color_RED(),
		}}
	}
	return awscloudwatch.NewGraphWidget(props)
}

// graphs are all of them, row by row.
func (r *OutboxRelay) graphs() []graph {
	retention := r.props.settings.cleanup.Retention + r.retained()
	return []graph{
		{title: "Lag: age of the oldest unpublished event", unit: "seconds", limit: r.props.Alarms.Lag.Seconds(), lines: r.measures(emf.OldestUnpublishedAge)},
		{title: "Backlog: events that should have been published", unit: "events", lines: r.measures(emf.UnpublishedEvents)},
		{title: "Events per minute", unit: "events a minute", lines: []awscloudwatch.IMetric{
			r.perMinute(emf.EventsPublished, "published"), r.perMinute(emf.EventsFailed, "failed"), r.perMinute(emf.EventsDeferred, "deferred"),
		}},
		{title: "Publish latency: from insert to acceptance", unit: "milliseconds", lines: r.percentiles(emf.PublishLatency)},
		{title: "Batch duration", unit: "milliseconds", lines: r.percentiles(emf.BatchDuration)},
		{title: "Failed events that wait for somebody", unit: "events", limit: 1, lines: r.measures(emf.FailedEvents)},
		{title: "Events held back by a pause", unit: "events", lines: r.measures(emf.PausedEvents)},
		{title: "Retained rows: age of the oldest published event", unit: "seconds", limit: retention.Seconds(), lines: r.measures(emf.OldestPublishedAge)},
		{title: "Rows deleted by the cleanup", unit: "rows a minute", lines: []awscloudwatch.IMetric{r.perMinute(emf.RowsDeleted, "deleted")}},
		{title: "Dead rows that wait for vacuum", unit: "rows", lines: r.measures(emf.DeadRows)},
		{title: "Age of the oldest transaction", unit: "seconds", limit: transactionMax.Seconds(), lines: r.measures(emf.OldestTransactionAge)},
		{title: "Invocations that did not arrive", unit: "invocations", lines: []awscloudwatch.IMetric{
			named(r.ofSchedules(targetErrors, time.Minute), "refused"),
			named(r.ofSchedules(invocationsDropped, time.Minute), "dropped"),
			named(r.ofSchedules(invocationsLost, time.Minute), "lost"),
			named(ofFunction(r.Relay, "AsyncEventsDropped", sum, time.Minute), "Lambda"),
			named(r.undelivered(time.Minute), "queued"),
		}},
		{title: "Errors", unit: "runs", lines: r.byFunction("Errors", sum)},
		{title: "Duration: the longest run", unit: "milliseconds", lines: r.byFunction("Duration", maximum)},
		{title: "Throttles", unit: "invocations", lines: r.byFunction("Throttles", sum)},
	}
}

// measures is a metric of lag, which is measured once in a run.
func (r *OutboxRelay) measures(name string) []awscloudwatch.IMetric {
	return []awscloudwatch.IMetric{named(r.own(name, maximum, r.props.Lag.Every), "greatest")}
}

func (r *OutboxRelay) percentiles(name string) []awscloudwatch.IMetric {
	return []awscloudwatch.IMetric{
		named(r.own(name, "p50", r.props.Relay.Every), "p50"),
		named(r.own(name, "p99", r.props.Relay.Every), "p99"),
	}
}

// perMinute stays what it is when CloudWatch shows a week by longer periods.
func (r *OutboxRelay) perMinute(name, label string) awscloudwatch.IMetric {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String(fmt.Sprintf("%[1]s / PERIOD(%[1]s) * 60", label)), Label: jsii.String(label),
		UsingMetrics: &map[string]awscloudwatch.IMetric{label: r.own(name, sum, time.Minute)},
		Period:       duration(time.Minute),
	})
}

func (r *OutboxRelay) byFunction(name, statistic string) []awscloudwatch.IMetric {
	var lines []awscloudwatch.IMetric
	for i, f := range []awslambda.Function{r.Relay, r.Lag, r.Cleanup, r.Migrate, r.Admin} {
		label := []string{"relay", "lag", "cleanup", "migrate", "admin"}[i]
		lines = append(lines, named(ofFunction(f, name, statistic, time.Minute), label))
	}
	return lines
}

func named(metric awscloudwatch.Metric, label string) awscloudwatch.IMetric {
	return metric.With(&awscloudwatch.MetricOptions{Label: jsii.String(label)})
}
