package picture

import (
	"encoding/json"
	"errors"
	"fmt"
)

// body is the definition of a dashboard.
type body struct {
	Widgets []widget
}

type widget struct {
	Type                string
	X, Y, Width, Height int
	Properties          struct {
		Title       string
		Alarms      []string
		Metrics     [][]any
		Annotations struct {
			Horizontal []struct {
				Label string
				Value float64
			}
		}
		YAxis struct{ Left struct{ Label string } }
	}
}

// line is what a graph shows of a metric.
type line struct {
	label  string
	values []float64
}

type options struct {
	Label, Expression, ID, Stat string
	Visible                     *bool
}

// lines are those of a graph, in turn. A metric that is not visible is there for
// the expression that follows from it.
func (w widget) lines() ([]line, error) {
	var lines []line
	hidden := map[string][]float64{}
	for _, metric := range w.Properties.Metrics {
		options, err := readOptions(metric)
		if err != nil {
			return nil, err
		}
		if options.Expression != "" {
			lines = append(lines, line{label: options.Label, values: []float64{}})
			continue
		}
		values, err := sample(fmt.Sprint(metric[1]), fmt.Sprint(metric[3]), options.Stat)
		switch {
		case err != nil:
			return nil, err
		case options.Visible != nil && !*options.Visible:
			hidden[options.ID] = values
		default:
			lines = append(lines, line{options.Label, values})
		}
	}
	return fillIn(lines, hidden)
}

// fillIn gives the lines of expressions their values: all are a metric by the
// minute, called as its line is.
func fillIn(lines []line, hidden map[string][]float64) ([]line, error) {
	for i, line := range lines {
		if len(line.values) > 0 {
			continue
		}
		values, found := hidden[line.label]
		if !found {
			return nil, fmt.Errorf("expression %s is of no metric of that name", line.label)
		}
		lines[i].values = values
	}
	return lines, nil
}

// readOptions are the last element of a metric. One has four before that, and an
// expression none.
func readOptions(metric []any) (read options, err error) {
	if len(metric) != 1 && len(metric) != 5 {
		return read, errors.New("a metric has another number of dimensions than one, or no label")
	}
	text, err := json.Marshal(metric[len(metric)-1])
	if err != nil {
		return read, err
	}
	err = json.Unmarshal(text, &read)
	return read, err
}
