package outboxcdk_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plain writes a part of a template as text: a reference is the construct that it
// refers to.
func plain(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case object:
		if ref, is := value["Ref"].(string); is {
			return construct(ref)
		}
		if joined, is := value["Fn::Join"].([]any); is {
			return plain(joined[1])
		}
		attribute, _ := value["Fn::GetAtt"].([]any)
		return construct(attribute[0].(string))
	case []any:
		var all strings.Builder
		for _, part := range value {
			all.WriteString(plain(part))
		}
		return all.String()
	default:
		return ""
	}
}

// dashboard is the body of the one dashboard of a template.
func dashboard(t *testing.T, of template) (body struct {
	Widgets []struct {
		Type                string
		X, Y, Width, Height int
		Properties          object
	}
},
) {
	t.Helper()
	dashboards := of.resources("AWS::CloudWatch::Dashboard")
	require.Len(t, dashboards, 1)
	require.NoError(t, json.Unmarshal([]byte(plain(dashboards[0].properties["DashboardBody"])), &body))
	return body
}

// lines are those of all graphs, as "metric dimension=value statistic".
func lines(t *testing.T) (all []string) {
	t.Helper()
	for _, widget := range dashboard(t, minimal(t)).Widgets {
		metrics, _ := widget.Properties["metrics"].([]any)
		for _, metric := range metrics {
			parts := metric.([]any)
			options, _ := parts[len(parts)-1].(object)
			if len(parts) < 4 { // metric math
				continue
			}
			statistic, is := options["stat"]
			if !is {
				statistic = "Average"
			}
			all = append(all, fmt.Sprintf("%v %v=%v %v", parts[1], parts[2], parts[3], statistic))
		}
	}
	return all
}

// ownMetrics are the names that the functions give to metrics.
func ownMetrics(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/emf/names.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(node ast.Node) bool {
		if constant, is := node.(*ast.ValueSpec); is && constant.Names[0].Name != "Dimension" {
			names = append(names, constant.Names[0].Name)
		}
		return true
	})
	return names
}

func TestEachMetricOfTheFunctionsIsOnTheDashboard(t *testing.T) {
	statistics := map[string][]string{
		"EventsPublished": {"Sum"}, "EventsFailed": {"Sum"}, "EventsDeferred": {"Sum"}, "RowsDeleted": {"Sum"},
		"PublishLatency": {"p50", "p99"}, "BatchDuration": {"p50", "p99"},
	}
	names := ownMetrics(t)
	require.Len(t, names, 13)
	shown := lines(t)
	for _, name := range names {
		expected, is := statistics[name]
		if !is {
			expected = []string{"Maximum"} // what lag measures
		}
		for _, statistic := range expected {
			require.Contains(t, shown, name+" Outbox=outbox "+statistic)
		}
	}
}

func TestEachFunctionAndEveryQueueIsOnTheDashboard(t *testing.T) {
	shown := lines(t)
	for _, function := range []string{"Relay", "Lag", "Cleanup", "Migrate", "Admin"} {
		require.Contains(t, shown, "Errors FunctionName="+function+" Sum")
		require.Contains(t, shown, "Duration FunctionName="+function+" Maximum")
		require.Contains(t, shown, "Throttles FunctionName="+function+" Sum")
	}
	require.Contains(t, shown, "AsyncEventsDropped FunctionName=Relay Sum")
	require.Contains(t, shown, "ApproximateNumberOfMessagesVisible QueueName=Undelivered Maximum")
	group := minimal(t).resources("AWS::Scheduler::ScheduleGroup")[0].properties["Name"].(string)
	for _, metric := range []string{"TargetErrorCount", "InvocationDroppedCount", "InvocationsFailedToBeSentToDeadLetterCount"} {
		require.Contains(t, shown, metric+" ScheduleGroup="+group+" Sum")
	}
}

func TestTheStatusOfEachAlarmIsOnTop(t *testing.T) {
	top := dashboard(t, minimal(t)).Widgets[0]
	require.Equal(t, []any{"alarm", 0, 0, 24}, []any{top.Type, top.X, top.Y, top.Width})
	expected := []any{"Unhealthy"}
	for _, alarm := range minimal(t).resources("AWS::CloudWatch::Alarm") {
		expected = append(expected, construct(alarm.id))
	}
	require.ElementsMatch(t, expected, top.Properties["alarms"])
}

func TestEachGraphHasATitleAUnitAndTheThresholdOfItsAlarm(t *testing.T) {
	limits := map[string]float64{}
	for _, widget := range dashboard(t, heard(t)).Widgets[1:] {
		title := widget.Properties["title"].(string)
		require.NotEmpty(t, title)
		require.NotEmpty(t, at(widget.Properties, "yAxis", "left", "label"), title)
		require.InDelta(t, 0, at(widget.Properties, "yAxis", "left", "min"), 0, title)
		if value, is := at(widget.Properties, "annotations", "horizontal", 0, "value").(float64); is {
			limits[strings.Split(title, ":")[0]] = value
		}
	}
	require.Equal(t, map[string]float64{
		"Lag": 150, "Failed events that wait for somebody": 1, "Retained rows": 3 * 24 * 3600, "Age of the oldest transaction": 3600,
	}, limits)
}

func TestWidgetsFillTheGridRowByRow(t *testing.T) {
	widgets := dashboard(t, minimal(t)).Widgets
	require.Len(t, widgets, 16)
	for i, widget := range widgets[1:] {
		require.Equal(t, []int{i % 3 * 8, 4 + i/3*6, 8, 6}, []int{widget.X, widget.Y, widget.Width, widget.Height}, i)
	}
}
