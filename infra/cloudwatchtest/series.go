package cloudwatchtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unique"
)

// series is what an alarm watches: a datapoint for a period, or none.
type series interface {
	value(metrics Metrics, from, to, now time.Time) (value float64, found bool)
}

// statistic is a metric's.
type statistic struct {
	metric unique.Handle[Metric]
	name   string
}

func (s statistic) value(metrics Metrics, from, to, now time.Time) (value float64, found bool) {
	return metrics.statistic(s.metric, s.name, from, to, now)
}

// filled is FILL(of, with).
type filled struct {
	of   series
	with float64
}

func (f filled) value(metrics Metrics, from, to, now time.Time) (value float64, found bool) {
	if value, found := f.of.value(metrics, from, to, now); found {
		return value, true
	}
	return f.with, true
}

// difference is minuend - subtrahend. It has no datapoint where one is missing.
type difference struct{ minuend, subtrahend series }

func (d difference) value(metrics Metrics, from, to, now time.Time) (value float64, found bool) {
	minuend, found := d.minuend.value(metrics, from, to, now)
	if !found {
		return 0, false
	}
	subtrahend, found := d.subtrahend.value(metrics, from, to, now)
	return minuend - subtrahend, found
}

var fillCall = regexp.MustCompile(`^FILL\((\w+), (-?\d+)\)$`)

// parseExpression knows the metric math that the alarms use: FILL(id, number),
// an id, and a difference of two of these.
func parseExpression(text string, byID map[string]series) (series, error) {
	if minuend, subtrahend, found := strings.Cut(text, " - "); found {
		a, err := parseExpression(minuend, byID)
		if err != nil {
			return nil, err
		}
		b, err := parseExpression(subtrahend, byID)
		return difference{a, b}, err
	}
	if call := fillCall.FindStringSubmatch(text); len(call) == 3 && byID[call[1]] != nil {
		with, err := strconv.ParseFloat(call[2], 64)
		return filled{byID[call[1]], with}, err
	}
	if of, found := byID[text]; found {
		return of, nil
	}
	return nil, fmt.Errorf("metric math %q is none that this package knows", text)
}
