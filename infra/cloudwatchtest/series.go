package cloudwatchtest

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
	"unique"
)

// sight is what CloudWatch sees when it evaluates an alarm: the metrics as they are
// now, and of these the evaluation range.
type sight struct {
	metrics      Metrics
	now          time.Time
	begin, end   time.Time
	fillsNothing bool
	// empty are those of which is known whether they have anything in the range.
	empty map[series]bool
}

// nothing: there is no datapoint in the whole range.
func (s sight) nothing(of series) bool {
	if _, known := s.empty[of]; !known {
		_, found := of.value(s, s.begin, s.end)
		s.empty[of] = !found
	}
	return s.empty[of]
}

// series is what an alarm watches: a datapoint for a period, or none.
type series interface {
	value(seen sight, from, to time.Time) (value float64, found bool)
}

// statistic is a metric's.
type statistic struct {
	metric unique.Handle[Metric]
	name   string
}

func (s statistic) value(seen sight, from, to time.Time) (value float64, found bool) {
	return seen.metrics.statistic(s.metric, s.name, from, to, seen.now)
}

// filled is FILL(of, with).
type filled struct {
	of   series
	with float64
}

func (f filled) value(seen sight, from, to time.Time) (value float64, found bool) {
	if value, found := f.of.value(seen, from, to); found {
		return value, true
	}
	if seen.fillsNothing && seen.nothing(f.of) {
		return 0, false
	}
	return f.with, true
}

// total is what sums and differences come to. A value that is missing is 0, as is
// documented, but it is not said what a metric is that has none at all. There is no
// datapoint where all are missing.
type total []term

type term struct {
	series
	sign float64
}

func (t total) value(seen sight, from, to time.Time) (value float64, found bool) {
	for _, term := range t {
		if seen.fillsNothing && seen.nothing(term.series) {
			return 0, false
		}
		if part, is := term.value(seen, from, to); is {
			value, found = value+term.sign*part, true
		}
	}
	return value, found
}

var (
	fillCall = regexp.MustCompile(`^FILL\((\w+), (-?\d+)\)$`)
	signed   = regexp.MustCompile(` ([+-]) `)
)

// parseExpression knows the metric math that the alarms use: FILL(id, number),
// an id, and sums and differences of these.
func parseExpression(text string, byID map[string]series) (series, error) {
	if call := fillCall.FindStringSubmatch(text); len(call) == 3 && byID[call[1]] != nil {
		with, err := strconv.ParseFloat(call[2], 64)
		return filled{byID[call[1]], with}, err
	}
	if of, found := byID[text]; found {
		return of, nil
	}
	if signed.MatchString(text) {
		return parseTotal(text, byID)
	}
	return nil, fmt.Errorf("metric math %q is none that this package knows", text)
}

func parseTotal(text string, byID map[string]series) (series, error) {
	operators := signed.FindAllStringSubmatch(" + "+text, -1)
	var terms total
	for i, operand := range signed.Split(text, -1) {
		of, err := parseExpression(operand, byID)
		if err != nil {
			return nil, err
		}
		terms = append(terms, term{of, map[string]float64{"+": 1, "-": -1}[operators[i][1]]})
	}
	return terms, nil
}
