package cloudwatchtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/infra/cloudwatchtest"
)

var (
	noon    = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	age     = cloudwatchtest.NewMetric("OutboxRelay", "Age", "Outbox=shop")
	reading = cloudwatchtest.Reading{Extra: 2}
)

// parse is a template of one alarm on age, over 0, with a period of a minute.
func parse(t *testing.T, periods, datapoints int, missing string) cloudwatchtest.MetricAlarm {
	t.Helper()
	alarms, err := cloudwatchtest.Parse(fmt.Appendf(nil, `{"Resources": {"A": {"Type": "AWS::CloudWatch::Alarm", "Properties": {
		"Namespace": "OutboxRelay", "MetricName": "Age", "Dimensions": [{"Name": "Outbox", "Value": "shop"}], "Statistic": "Maximum",
		"Period": 60, "EvaluationPeriods": %d, "DatapointsToAlarm": %d, "Threshold": 0,
		"ComparisonOperator": "GreaterThanThreshold", "TreatMissingData": %q}}}}`, periods, datapoints, missing), nil)
	require.NoError(t, err)
	return alarms[0]
}

// drawn are the datapoints up to noon as the documentation draws them, newest
// last: 0 is within the threshold, X breaching, - missing.
func drawn(datapoints string) cloudwatchtest.Metrics {
	metrics := cloudwatchtest.Metrics{}
	for i, datapoint := range datapoints {
		at := noon.Add(time.Duration(i-len(datapoints)) * time.Minute)
		switch datapoint {
		case '0':
			metrics.Put(age, at, at, 0)
		case 'X':
			metrics.Put(age, at, at, 1)
		}
	}
	return metrics
}

// The examples of AWS's "How alarm state is evaluated when data is missing", in
// which the evaluation range has five periods. Retain stands for whatever state
// the alarm had.
func TestDecidesTheDocumentedExamplesAsDocumented(t *testing.T) {
	t.Parallel()

	const retain = "retain"
	for _, example := range []struct {
		datapoints                      string
		m, n                            int
		ignore, breaching, notBreaching cloudwatchtest.State
	}{
		{"0-X-X", 3, 3, "OK", "OK", "OK"},
		{"0----", 3, 3, "OK", "OK", "OK"},
		{"-----", 3, 3, retain, "ALARM", "OK"},
		{"0XX-X", 3, 3, "ALARM", "ALARM", "ALARM"},
		{"----X", 3, 3, retain, "ALARM", "OK"},
		{"X----", 3, 3, retain, "ALARM", "OK"},
		{"0-X-X", 2, 3, "ALARM", "ALARM", "ALARM"},
		{"00X0X", 2, 3, "ALARM", "ALARM", "ALARM"},
		{"0-X--", 2, 3, "OK", "ALARM", "OK"},
		{"----0", 2, 3, "OK", "ALARM", "OK"},
		{"----X", 2, 3, retain, "ALARM", "OK"},
	} {
		for missing, want := range map[string]cloudwatchtest.State{
			"ignore": example.ignore, "breaching": example.breaching, "notBreaching": example.notBreaching,
		} {
			for _, previous := range []cloudwatchtest.State{cloudwatchtest.OK, cloudwatchtest.Alarm} {
				expected := want
				if want == retain {
					expected = previous
				}
				got := parse(t, example.n, example.m, missing).Evaluate(drawn(example.datapoints), noon, previous, reading)
				require.Equal(t, expected, got, "%s, %d of %d, %s, was %s", example.datapoints, example.m, example.n, missing, previous)
			}
		}
	}
}

func TestSeesOnlyWhatHasArrived(t *testing.T) {
	t.Parallel()

	alarm := parse(t, 1, 1, "notBreaching")
	metrics := cloudwatchtest.Metrics{}
	metrics.Put(age, noon, noon.Add(90*time.Second), 1)

	require.Equal(t, []cloudwatchtest.Change{
		{At: noon.Add(2 * time.Minute), State: cloudwatchtest.Alarm},
		{At: noon.Add(4 * time.Minute), State: cloudwatchtest.OK},
	}, alarm.History(metrics, noon, noon.Add(10*time.Minute), reading))
}

func TestTakesTheMaximumOrTheSumOfAPeriod(t *testing.T) {
	t.Parallel()

	metrics := cloudwatchtest.Metrics{}
	for _, value := range []float64{2, 3, 1} {
		metrics.Put(age, noon.Add(-time.Minute), noon, value)
	}
	for _, test := range []struct {
		statistic string
		value     float64
	}{{"Maximum", 3}, {"Sum", 6}} {
		for threshold, want := range map[float64]cloudwatchtest.State{test.value - 0.5: cloudwatchtest.Alarm, test.value + 0.5: cloudwatchtest.OK} {
			alarms, err := cloudwatchtest.Parse(fmt.Appendf(nil, `{"Resources": {"A": {"Type": "AWS::CloudWatch::Alarm", "Properties": {
				"Metrics": [{"Id": "e", "Expression": "FILL(m, 0)"}, {"Id": "m", "ReturnData": false, "MetricStat": {"Period": 300, "Stat": %q,
					"Metric": {"Namespace": "OutboxRelay", "MetricName": "Age", "Dimensions": [{"Name": "Outbox", "Value": {"Ref": "B"}}]}}}],
				"EvaluationPeriods": 1, "Threshold": %v, "ComparisonOperator": "GreaterThanThreshold", "TreatMissingData": "breaching"}}}}`,
				test.statistic, threshold), map[string]string{"B": "shop"})
			require.NoError(t, err)
			require.Equal(t, want, alarms[0].Evaluate(metrics, noon, cloudwatchtest.OK, reading), "%s over %v", test.statistic, threshold)
			require.Equal(t, cloudwatchtest.OK, alarms[0].Evaluate(nil, noon, cloudwatchtest.Alarm, reading), "filled with 0")
		}
	}
}

// math is a template of one alarm on metric math over m and n, with a period of a
// minute, that rings below 0.
func math(t *testing.T, expression string) cloudwatchtest.MetricAlarm {
	t.Helper()
	metric := func(id string) string {
		return fmt.Sprintf(`{"Id": %[1]q, "ReturnData": false, "MetricStat": {"Period": 60, "Stat": "Sum", "Metric": {"Namespace": "N", "MetricName": %[1]q}}}`, id)
	}
	alarms, err := cloudwatchtest.Parse(fmt.Appendf(nil, `{"Resources": {"A": {"Type": "AWS::CloudWatch::Alarm", "Properties": {
		"Metrics": [{"Id": "e", "Expression": %q}, %s, %s], "EvaluationPeriods": 2, "Threshold": 0,
		"ComparisonOperator": "LessThanThreshold", "TreatMissingData": "notBreaching"}}}}`, expression, metric("m"), metric("n")), nil)
	require.NoError(t, err)
	return alarms[0]
}

// As "Using metric math" documents it: missing values are treated as 0. A metric
// that has none may be no time series at all.
func TestASumTakesWhatIsMissingForZero(t *testing.T) {
	t.Parallel()

	for expression, want := range map[string]cloudwatchtest.State{
		"m": "OK", "n": "ALARM", "m + n": "ALARM", "m - n": "OK", "n - m": "ALARM", "m + n - m": "ALARM", "m - n + n": "OK", "m - m": "OK",
	} {
		metrics := cloudwatchtest.Metrics{} // of m there is nothing
		for _, ago := range []time.Duration{time.Minute, 2 * time.Minute} {
			at := noon.Add(-ago)
			metrics.Put(cloudwatchtest.NewMetric("N", "n"), at, at, -1)
		}
		require.Equal(t, want, math(t, expression).Evaluate(metrics, noon, cloudwatchtest.OK, reading), expression)
		if expression != "n" {
			empty := cloudwatchtest.Reading{Extra: 2, FillsNothing: true}
			require.Equal(t, cloudwatchtest.OK, math(t, expression).Evaluate(metrics, noon, cloudwatchtest.OK, empty), "m is empty: %s", expression)
		}
	}
}

func TestFillMayNotFillAMetricThatHasNothingInTheRange(t *testing.T) {
	t.Parallel()

	alarm := math(t, "FILL(n, -1)")
	for ago, want := range map[time.Duration]cloudwatchtest.State{3 * time.Minute: "ALARM", 4 * time.Minute: "ALARM", 5 * time.Minute: "OK"} {
		metrics := cloudwatchtest.Metrics{}
		at := noon.Add(-ago)
		metrics.Put(cloudwatchtest.NewMetric("N", "n"), at, at, 0)
		require.Equal(t, cloudwatchtest.Alarm, alarm.Evaluate(metrics, noon, cloudwatchtest.OK, reading), "it fills all, %s", ago)
		fillsNothing := cloudwatchtest.Reading{Extra: 2, FillsNothing: true}
		require.Equal(t, want, alarm.Evaluate(metrics, noon, cloudwatchtest.OK, fillsNothing), "the range has four periods, %s", ago)
	}
}

func TestRefusesWhatItOrCloudWatchDoesNotEvaluate(t *testing.T) {
	t.Parallel()

	for _, wrong := range []string{
		`"Period": 90`, `"EvaluationPeriods": 1441`, `"DatapointsToAlarm": 3`, `"TreatMissingData": "missing"`,
		`"Statistic": "p99"`, `"ComparisonOperator": "LessThanLowerThreshold"`,
		`"Metrics": [{"Id": "e", "Expression": "RATE(m)"}]`, `"Metrics": [{"Id": "e", "Expression": "m + "}]`, `"Dimensions": [{"Name": "Outbox", "Value": {"Fn::Sub": "a"}}]`,
	} {
		// Of a key that is there twice, the last counts.
		_, err := cloudwatchtest.Parse([]byte(`{"Resources": {"A": {"Type": "AWS::CloudWatch::Alarm", "Properties": {
			"Namespace": "n", "MetricName": "m", "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 2, "Threshold": 0,
			"ComparisonOperator": "GreaterThanThreshold", "TreatMissingData": "breaching", `+wrong+`}}}}`), nil)
		require.ErrorContains(t, err, "parse alarm A: ", wrong)
	}
}
