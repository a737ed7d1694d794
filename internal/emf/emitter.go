// Package emf writes metrics in CloudWatch's embedded metric format: a line of
// JSON on standard output, of which CloudWatch makes metrics by itself. That
// needs no call, no permission and no way out of a VPC.
//
// The format is specified in "Specification: Embedded metric format" of the
// CloudWatch user guide. Lambda adds a condition: with JSON logging it filters
// lines by their member "level" and takes a line without one for INFO, so that
// a function which logs from WARN on would lose its metrics, and with them its
// alarms. Every line therefore says level FATAL, the highest there is. It is no
// sign of trouble, and a search for errors that matches it can leave out what
// has a member "_aws".
//
// CloudWatch may count a line twice: alarm on Maximum, not on Sum.
package emf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"
)

// Unit is one of CloudWatch's units.
type Unit string

// The units in use.
const (
	Count        Unit = "Count"
	Seconds      Unit = "Seconds"
	Milliseconds Unit = "Milliseconds"
)

const (
	maxValues  = 100 // of one metric in one line
	maxMetrics = 100 // in one line

	level = "FATAL"
)

// reserved are the members of a line that are no metrics.
var reserved = []string{"_aws", "level", Dimension}

// Metric is a number, or several that were measured since the last call.
type Metric struct {
	Name   string
	Unit   Unit
	Values []float64
}

// One is a metric with a single value.
func One(name string, unit Unit, value float64) Metric {
	return Metric{Name: name, Unit: unit, Values: []float64{value}}
}

// Emitter writes metrics of one outbox. It is safe for concurrent use: a line
// is one Write.
type Emitter struct {
	mu        sync.Mutex
	out       io.Writer
	namespace string
	outbox    string
}

// New returns an emitter that writes to out, in a namespace, with the outbox as
// the value of the dimension Outbox.
func New(out io.Writer, namespace, outbox string) *Emitter {
	return &Emitter{out: out, namespace: namespace, outbox: outbox}
}

// Emit writes the metrics, each of another name, as measured at one time: as one
// line, or as several when a metric has more values than a line holds. A
// metric without values is left out. A value that is no number counts as 0,
// an infinite one as the greatest that CloudWatch takes: what was computed
// wrongly must not cost the other metrics.
func (e *Emitter) Emit(at time.Time, metrics ...Metric) error {
	if err := check(metrics); err != nil {
		return fmt.Errorf("emit metrics: %w", err)
	}
	for {
		var line []Metric
		line, metrics = cut(metrics)
		if len(line) == 0 {
			return nil
		}
		if err := e.write(at, line); err != nil {
			return fmt.Errorf("emit metrics: %w", err)
		}
	}
}

// check finds what a caller has put together wrongly.
func check(metrics []Metric) error {
	seen := slices.Clone(reserved)
	for _, metric := range metrics {
		if metric.Name == "" || slices.Contains(seen, metric.Name) {
			return fmt.Errorf("name %q is empty, taken or given twice", metric.Name)
		}
		seen = append(seen, metric.Name)
	}
	if len(metrics) > maxMetrics {
		return errors.New("more than 100 metrics")
	}
	return nil
}

// cut takes what fits into a line off the metrics.
func cut(metrics []Metric) (line, rest []Metric) {
	for _, metric := range metrics {
		n := min(len(metric.Values), maxValues)
		if n > 0 {
			line = append(line, Metric{metric.Name, metric.Unit, metric.Values[:n]})
		}
		if n < len(metric.Values) {
			rest = append(rest, Metric{metric.Name, metric.Unit, metric.Values[n:]})
		}
	}
	return line, rest
}

type metadata struct {
	Timestamp         int64 // milliseconds
	CloudWatchMetrics []directive
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

type definition struct {
	Name string
	Unit Unit
}

func (e *Emitter) write(at time.Time, metrics []Metric) error {
	root := map[string]any{"level": level, Dimension: e.outbox}
	definitions := make([]definition, 0, len(metrics))
	for _, metric := range metrics {
		definitions = append(definitions, definition{metric.Name, metric.Unit})
		root[metric.Name] = member(metric.Values)
	}
	root["_aws"] = metadata{
		Timestamp:         at.UnixMilli(),
		CloudWatchMetrics: []directive{{e.namespace, [][]string{{Dimension}}, definitions}},
	}
	line, err := json.Marshal(root)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err = e.out.Write(append(line, '\n'))
	return err
}

// member is how a line holds values: a lone one as it is.
func member(values []float64) any {
	sound := make([]float64, len(values))
	for i, value := range values {
		sound[i] = bounded(value)
	}
	if len(sound) == 1 {
		return sound[0]
	}
	return sound
}

// bounded keeps a value within what CloudWatch takes: from -2^360 to 2^360.
func bounded(value float64) float64 {
	if math.IsNaN(value) {
		return 0
	}
	limit := math.Ldexp(1, 360)
	return max(-limit, min(limit, value))
}
