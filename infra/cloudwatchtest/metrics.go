package cloudwatchtest

import (
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

// Metrics are all values that were ever put, by metric.
type Metrics map[unique.Handle[Metric]]*minutes

// minutes are the values of a metric from a first minute on.
type minutes struct {
	first int64
	of    [][]sample
}

// Put adds a value that is stamped with one time and can be seen from another on.
func (m Metrics) Put(metric Metric, stamped, visible time.Time, value float64) {
	key, at := unique.Make(metric), minute(stamped)
	if m[key] == nil {
		m[key] = &minutes{first: at}
	}
	m[key].put(at, sample{visible, value})
}

func (m *minutes) put(at int64, value sample) {
	if at < m.first {
		m.of = slices.Concat(make([][]sample, m.first-at), m.of)
		m.first = at
	}
	if missing := at - m.first + 1 - int64(len(m.of)); missing > 0 {
		m.of = append(m.of, make([][]sample, missing)...)
	}
	m.of[at-m.first] = append(m.of[at-m.first], value)
}

// between are the values from one minute up to another.
func (m *minutes) between(from, to int64) [][]sample {
	if m == nil {
		return nil
	}
	end := int64(len(m.of))
	return m.of[min(max(from-m.first, 0), end):min(max(to-m.first, 0), end)]
}

// statistic is that of the values from one time up to another, as seen now; no
// value: nothing.
func (m Metrics) statistic(metric unique.Handle[Metric], name string, from, to, now time.Time) (value float64, found bool) {
	for _, samples := range m[metric].between(minute(from), minute(to)) {
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

const (
	maximum = "Maximum"
	sum     = "Sum"
)

func minute(t time.Time) int64 { return t.Unix() / 60 }
