package cloudwatchtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unique"
)

// Parse reads the metric alarms of a template, in JSON. Names are what an alarm or
// the value of a dimension is called instead of its logical ID or its name; the
// QueueName of a queue, say, is called by the queue.
func Parse(template []byte, names map[string]string) ([]MetricAlarm, error) {
	var parsed struct {
		Resources map[string]struct {
			Type       string
			Properties json.RawMessage
		}
	}
	if err := json.Unmarshal(template, &parsed); err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	var alarms []MetricAlarm
	for id, resource := range parsed.Resources {
		if resource.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		alarm, err := parseAlarm(resource.Properties, names)
		if err != nil {
			return nil, fmt.Errorf("parse alarm %s: %w", id, err)
		}
		alarm.Name = name(id, names)
		alarms = append(alarms, alarm)
	}
	slices.SortFunc(alarms, func(a, b MetricAlarm) int { return strings.Compare(a.Name, b.Name) })
	return alarms, nil
}

type properties struct {
	ComparisonOperator string
	DatapointsToAlarm  int
	EvaluationPeriods  int
	Threshold          float64
	TreatMissingData   string

	metric
	Period    int
	Statistic string
	Metrics   []query
}

type metric struct {
	Namespace, MetricName string
	Dimensions            []struct {
		Name  string
		Value any
	}
}

type query struct {
	ID         string `json:"Id"`
	Expression string
	ReturnData *bool
	MetricStat *struct {
		Metric metric
		Period int
		Stat   string
	}
}

func parseAlarm(text []byte, names map[string]string) (MetricAlarm, error) {
	var p properties
	if err := json.Unmarshal(text, &p); err != nil {
		return MetricAlarm{}, err
	}
	alarm := MetricAlarm{
		Periods: p.EvaluationPeriods, Datapoints: p.DatapointsToAlarm, Threshold: p.Threshold,
		Comparison: p.ComparisonOperator, Missing: p.TreatMissingData,
	}
	if alarm.Datapoints == 0 {
		alarm.Datapoints = alarm.Periods
	}
	var seconds int
	var err error
	if alarm.series, seconds, err = p.series(names); err != nil {
		return MetricAlarm{}, err
	}
	alarm.Period = time.Duration(seconds) * time.Second
	return alarm, alarm.check()
}

// check refuses what CloudWatch or this package would not evaluate.
func (a MetricAlarm) check() error {
	operators := []string{"GreaterThanThreshold", "GreaterThanOrEqualToThreshold", "LessThanThreshold", "LessThanOrEqualToThreshold"}
	span := time.Duration(a.Periods) * a.Period
	switch {
	case !slices.Contains(operators, a.Comparison):
		return fmt.Errorf("comparison %q is not known", a.Comparison)
	case !slices.Contains([]string{"breaching", "notBreaching", "ignore"}, a.Missing):
		return fmt.Errorf("treatment %q of missing data is not known", a.Missing)
	case a.Periods < 1 || a.Datapoints < 1 || a.Datapoints > a.Periods:
		return fmt.Errorf("%d of %d datapoints can never be breaching", a.Datapoints, a.Periods)
	case a.Period < time.Minute || a.Period%time.Minute != 0:
		return fmt.Errorf("a period of %v is no number of minutes", a.Period)
	case a.Period < time.Hour && span > 24*time.Hour, span > 7*24*time.Hour:
		return fmt.Errorf("%d periods of %v are more than CloudWatch takes", a.Periods, a.Period)
	}
	return nil
}

// series is what the alarm watches, with the seconds of a period.
func (p properties) series(names map[string]string) (watched series, seconds int, err error) {
	if len(p.Metrics) == 0 {
		watched, err = newStatistic(p.metric, p.Statistic, names)
		return watched, p.Period, err
	}
	byID, expression := map[string]series{}, ""
	for _, query := range p.Metrics {
		if query.MetricStat == nil {
			expression = query.Expression
			continue
		}
		if query.ReturnData == nil || *query.ReturnData {
			return nil, 0, fmt.Errorf("metric %s is returned, and the expression too", query.ID)
		}
		seconds = query.MetricStat.Period
		if byID[query.ID], err = newStatistic(query.MetricStat.Metric, query.MetricStat.Stat, names); err != nil {
			return nil, 0, err
		}
	}
	watched, err = parseExpression(expression, byID)
	return watched, seconds, err
}

func newStatistic(m metric, stat string, names map[string]string) (series, error) {
	if stat != sum && stat != maximum {
		return nil, fmt.Errorf("statistic %q of %s is not known", stat, m.MetricName)
	}
	var dimensions []string
	for _, dimension := range m.Dimensions {
		value, err := text(dimension.Value, names)
		if err != nil {
			return nil, fmt.Errorf("dimension %s of %s: %w", dimension.Name, m.MetricName, err)
		}
		dimensions = append(dimensions, dimension.Name+"="+value)
	}
	return statistic{unique.Make(NewMetric(m.Namespace, m.MetricName, dimensions...)), stat}, nil
}

// text is a value of a template: a string, a reference, or an attribute that is
// a name.
func text(value any, names map[string]string) (string, error) {
	if plain, is := value.(string); is {
		return name(plain, names), nil
	}
	intrinsic, _ := value.(map[string]any)
	if ref, is := intrinsic["Ref"].(string); is {
		return name(ref, names), nil
	}
	if attribute, is := intrinsic["Fn::GetAtt"].([]any); is {
		if id, is := attribute[0].(string); is {
			return name(id, names), nil
		}
	}
	return "", errors.New("is neither a text nor a reference")
}

func name(id string, names map[string]string) string {
	if given, found := names[id]; found {
		return given
	}
	return id
}
