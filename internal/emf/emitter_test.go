package emf_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"outboxrelay/internal/emf"
)

var noon = time.UnixMilli(1_764_504_000_123)

func TestWritesOneLine(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	err := emf.New(&out, "OutboxRelay", "orders").Emit(noon,
		emf.One("EventsPublished", emf.Count, 7),
		emf.Metric{Name: "PublishLatency", Unit: emf.Milliseconds, Values: []float64{1.5, 20}},
		emf.Metric{Name: "Unmeasured", Unit: emf.Seconds},
	)

	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	require.JSONEq(t, `{
		"_aws": {
			"Timestamp": 1764504000123,
			"CloudWatchMetrics": [{
				"Namespace": "OutboxRelay",
				"Dimensions": [["Outbox"]],
				"Metrics": [{"Name": "EventsPublished", "Unit": "Count"}, {"Name": "PublishLatency", "Unit": "Milliseconds"}]
			}]
		},
		"level": "FATAL",
		"Outbox": "orders",
		"EventsPublished": 7,
		"PublishLatency": [1.5, 20]
	}`, out.String())
}

func TestWritesZero(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	require.NoError(t, emf.New(&out, "n", "o").Emit(noon, emf.One("Zero", emf.Count, 0)))
	require.Contains(t, out.String(), `"Zero":0`)
}

func TestWritesNothingWithoutValues(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	emitter := emf.New(&out, "n", "o")
	require.NoError(t, emitter.Emit(noon))
	require.NoError(t, emitter.Emit(noon, emf.Metric{Name: "Nothing", Unit: emf.Count}))
	require.Empty(t, out.String())
}

func TestRefusesNamesThatClash(t *testing.T) {
	t.Parallel()

	emitter := emf.New(&bytes.Buffer{}, "n", "o")
	for _, name := range []string{"", "_aws", "level", "Outbox", "Twice"} {
		err := emitter.Emit(noon, emf.One("Twice", emf.Count, 1), emf.One(name, emf.Count, 1))
		require.ErrorContains(t, err, fmt.Sprintf("emit metrics: name %q", name))
	}
	var many []emf.Metric
	for i := range 101 {
		many = append(many, emf.One(fmt.Sprintf("M%d", i), emf.Count, 1))
	}
	require.ErrorContains(t, emitter.Emit(noon, many...), "more than 100 metrics")
}

func TestReportsThatItCannotWrite(t *testing.T) {
	t.Parallel()

	full := errors.New("disk full")
	err := emf.New(writerFunc(func([]byte) (int, error) { return 0, full }), "n", "o").Emit(noon, emf.One("A", emf.Count, 1))
	require.ErrorIs(t, err, full)
}

func TestWritesALineAtOnce(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	emitter := emf.New(writerFunc(func(line []byte) (int, error) {
		out.WriteString(strings.TrimSuffix(string(line), "\n") + "|")
		return len(line), nil
	}), "n", "o")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _ = emitter.Emit(noon, emf.One("A", emf.Count, 1)) })
	}
	all.Wait()

	require.Equal(t, 20, strings.Count(out.String(), "}|"))
	require.NotContains(t, out.String(), "\n")
}

// TestWritesWhatCloudWatchTakes holds whatever is given to the specification,
// and finds every value again.
func TestWritesWhatCloudWatchTakes(t *testing.T) {
	t.Parallel()

	units := []emf.Unit{emf.Count, emf.Seconds, emf.Milliseconds}
	values := rapid.OneOf(
		rapid.Float64(),
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 0}),
	)
	rapid.Check(t, func(t *rapid.T) {
		namespace, outbox := rapid.StringMatching(`[A-Za-z/]{1,20}`).Draw(t, "namespace"), rapid.StringMatching(`[ -~]{1,40}`).Draw(t, "outbox")
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Z][a-z<>&"\\]{1,20}x`), 0, 100, rapid.ID[string]).Draw(t, "names")
		var metrics []emf.Metric
		given := map[string]int{}
		for _, name := range names {
			metric := emf.Metric{Name: name, Unit: rapid.SampledFrom(units).Draw(t, "unit")}
			metric.Values = rapid.SliceOfN(values, 0, 250).Draw(t, "values")
			metrics = append(metrics, metric)
			given[name] = len(metric.Values)
		}

		var out bytes.Buffer
		require.NoError(t, emf.New(&out, namespace, outbox).Emit(noon, metrics...))

		found := map[string]int{}
		for line := range strings.Lines(out.String()) {
			for name, count := range validate(t, line) {
				found[name] += count
			}
		}
		for name, count := range given {
			require.Equal(t, count, found[name], name)
		}
	})
}

// validate checks a line against the specification and returns how many values
// each metric has in it.
func validate(t require.TestingT, line string) map[string]int {
	require.True(t, strings.HasSuffix(line, "}\n"), "a line is an object to its end")
	require.Less(t, len(line), 1_000_000)
	var root map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(line), &root))
	var aws struct {
		Timestamp         *int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	}
	require.NoError(t, json.Unmarshal(root["_aws"], &aws))
	require.Equal(t, noon.UnixMilli(), *aws.Timestamp)
	require.Len(t, aws.CloudWatchMetrics, 1)

	directive := aws.CloudWatchMetrics[0]
	require.NotEmpty(t, directive.Namespace)
	require.NotEmpty(t, directive.Dimensions)
	for _, name := range directive.Dimensions[0] {
		var target string
		require.NoError(t, json.Unmarshal(root[name], &target), "the target of dimension %s is a text", name)
		require.NotEmpty(t, target)
		require.LessOrEqual(t, len(target), 1024)
	}
	require.NotEmpty(t, directive.Metrics)
	require.LessOrEqual(t, len(directive.Metrics), 100)
	counts := map[string]int{}
	for _, metric := range directive.Metrics {
		require.Contains(t, []string{"Count", "Seconds", "Milliseconds"}, metric.Unit)
		require.NotContains(t, counts, metric.Name)
		counts[metric.Name] = len(numbers(t, root[metric.Name]))
	}
	require.Len(t, root, len(counts)+3, "nothing but the metrics, _aws, level and Outbox")
	return counts
}

// numbers reads a metric's target: a number or up to 100 of them.
func numbers(t require.TestingT, target json.RawMessage) []float64 {
	var values []float64
	if target[0] != '[' {
		target = json.RawMessage("[" + string(target) + "]")
	}
	require.NoError(t, json.Unmarshal(target, &values))
	require.NotEmpty(t, values)
	require.LessOrEqual(t, len(values), 100)
	for _, value := range values {
		require.LessOrEqual(t, math.Abs(value), math.Ldexp(1, 360))
	}
	return values
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
