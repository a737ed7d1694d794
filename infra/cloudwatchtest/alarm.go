package cloudwatchtest

import (
	"slices"
	"time"
)

// State is that of an alarm.
type State string

// The states that are told apart here.
const (
	OK    State = "OK"
	Alarm State = "ALARM"
)

// MetricAlarm is one alarm of a template.
type MetricAlarm struct {
	Name string
	// Period is that of a datapoint. Of Periods datapoints, Datapoints have to be
	// breaching.
	Period              time.Duration
	Periods, Datapoints int
	Comparison          string
	Threshold           float64
	// Missing is breaching, notBreaching or ignore.
	Missing string

	series series
}

// Reading is what CloudWatch does not document.
type Reading struct {
	// Extra is by how many periods the evaluation range is longer than the
	// evaluation periods.
	Extra int
	// Aligned: periods begin at multiples of their length. Else they end now.
	Aligned bool
	// FillsNothing: a metric that has no datapoint in the whole evaluation range
	// stays without, also in FILL, and so does a sum that it is a term of.
	FillsNothing bool
}

// Evaluate says what state the alarm has next.
func (a MetricAlarm) Evaluate(metrics Metrics, now time.Time, previous State, reading Reading) State {
	end := now.Truncate(time.Minute)
	if reading.Aligned {
		end = now.Truncate(a.Period)
	}
	periods := a.Periods + reading.Extra
	seen := sight{metrics, now, end.Add(-time.Duration(periods) * a.Period), end, reading.FillsNothing, map[series]bool{}}
	var found []bool // newest first: is it breaching
	for n := 0; n < periods && len(found) < a.Periods; n++ {
		begin := end.Add(-a.Period)
		if value, is := a.series.value(seen, begin, end); is {
			found = append(found, a.breaching(value))
		}
		end = begin
	}
	return a.decide(found, previous)
}

// decide fills what is missing, as few times as possible.
func (a MetricAlarm) decide(found []bool, previous State) State {
	breaching, missing := 0, a.Periods-len(found)
	for _, is := range found {
		if is {
			breaching++
		}
	}
	if a.Missing == "breaching" {
		breaching += missing
	}
	switch {
	case breaching >= a.Datapoints:
		return Alarm
	case a.Missing == "ignore" && missing > 0 && !slices.Contains(found, false):
		return previous
	default:
		return OK
	}
}

func (a MetricAlarm) breaching(value float64) bool {
	switch a.Comparison {
	case "GreaterThanThreshold":
		return value > a.Threshold
	case "GreaterThanOrEqualToThreshold":
		return value >= a.Threshold
	case "LessThanThreshold":
		return value < a.Threshold
	default: // Parse refuses others
		return value <= a.Threshold
	}
}

// Change is an alarm's going over to a state.
type Change struct {
	At    time.Time
	State State
}

// History evaluates each minute, from one time up to another, and returns what
// has changed. The alarm is OK before.
func (a MetricAlarm) History(metrics Metrics, from, to time.Time, reading Reading) (changes []Change) {
	state := OK
	for now := from; now.Before(to); now = now.Add(time.Minute) {
		if next := a.Evaluate(metrics, now, state, reading); next != state {
			state = next
			changes = append(changes, Change{now, state})
		}
	}
	return changes
}
