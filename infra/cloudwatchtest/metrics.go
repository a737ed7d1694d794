package cloudwatchtest

import (
	"iter"
	"slices"
	"strings"
	"time"
	"unique"
)

// Metric is what tells a metric from others.
type Metric struct {
	Namespace, Name string
	// Dimensions is name=value, sorted, with commas between.
	Dimensions string
}

// NewMetric puts a metric together; each dimension is name=value.
func NewMetric(namespace, name string, dimensions ...string) Metric {
	slices.Sort(dimensions)
	return Metric{namespace, name, strings.Join(dimensions, ",")}
}

// sample is one value, and when CloudWatch has it.
type sample struct {
	visible time.Time
	value   float64
}

// Metrics are all values that were ever put, by metric and minute.
type Metrics map[unique.Handle[Metric]]map[int64][]sample

// Put adds a value that is stamped with one time and can be seen from another on.
func (m Metrics) Put(metric Metric, stamped, visible time.Time, value float64) {
	key := unique.Make(metric)
	minutes := m[key]
	if minutes == nil {
		minutes = map[int64][]sample{}
		m[key] = minutes
	}
	minutes[minute(stamped)] = append(minutes[minute(stamped)], sample{visible, value})
}

// statistic is that of the values from one time up to another, as seen now; no
// value: nothing.
func (m Metrics) statistic(metric unique.Handle[Metric], name string, from, to, now time.Time) (value float64, found bool) {
	minutes := m[metric]
	if len(minutes) == 0 {
		return 0, false
	}
	for samples := range between(minutes, minute(from), minute(to)) {
		for _, sample := range samples {
			switch {
			case sample.visible.After(now):
				continue
			case !found || name == maximum && sample.value > value:
				value = sample.value
			case name == sum:
				value += sample.value
			}
			found = true
		}
	}
	return value, found
}

// between are the samples from one minute up to another, by minutes in any order: a
// metric may have fewer of them than a long period.
func between(minutes map[int64][]sample, from, to int64) iter.Seq[[]sample] {
	return func(yield func([]sample) bool) {
		if int64(len(minutes)) < to-from {
			for at, samples := range minutes {
				if from <= at && at < to && !yield(samples) {
					return
				}
			}
			return
		}
		for at := from; at < to && yield(minutes[at]); at++ { //nolint:revive // the work is done by yield
		}
	}
}

const (
	maximum = "Maximum"
	sum     = "Sum"
)

func minute(t time.Time) int64 { return t.Unix() / 60 }
