package relaytest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/lambdatest"
)

// Settings are a function's environment.
type Settings map[string]string

// Unset takes a setting away that every scene has.
const Unset = "\x00"

// Relay is the function in a sandbox.
type Relay struct{ *lambdatest.Function }

// Start starts a function with a limit of 30 seconds.
func (s *Scene) Start(t *testing.T, env Settings) Relay {
	t.Helper()
	return s.StartWithin(t, 30*time.Second, env)
}

// StartWithin starts a function with a limit of its own.
func (s *Scene) StartWithin(t *testing.T, limit time.Duration, env Settings) Relay {
	t.Helper()
	all := Settings{
		"DATABASE_URL":                 s.Login.URL, // it says sslmode=disable
		"AWS_ENDPOINT_URL_EVENTBRIDGE": s.Bus.URL(),
	}
	maps.Copy(all, env)
	maps.DeleteFunc(all, func(_, value string) bool { return value == Unset })
	bootstrap, err := lambdatest.Build(t.Context(), "relay")
	require.NoError(t, err)
	return Relay{lambdatest.Start(t, lambdatest.Config{Bootstrap: bootstrap, Env: all, Timeout: limit, MemoryMB: 128})}
}

// Run runs the function once, as the scheduler does.
func (r Relay) Run(t *testing.T) lambdatest.Response {
	t.Helper()
	response, err := r.Invoke(t.Context(), map[string]string{"source": "aws.scheduler"})
	require.NoError(t, err)
	return response
}

// Succeed runs the function once and returns its answer.
func (r Relay) Succeed(t *testing.T) Answer {
	t.Helper()
	return Successful(t, r.Run(t))
}

// Fail runs the function once, which has to return an error of its type, and
// returns the message.
func (r Relay) Fail(t *testing.T) string {
	t.Helper()
	response := r.Run(t)
	require.False(t, response.TimedOut || response.Crashed, response.ErrorMessage)
	require.Equal(t, "RelayError", response.ErrorType, string(response.Payload))
	return response.ErrorMessage
}

// Drain runs the function until nothing is left, at most a few times.
func (r Relay) Drain(t *testing.T, s *Scene) {
	t.Helper()
	for range 5 {
		r.Run(t)
		if s.Pending(t) == 0 {
			return
		}
	}
	require.Zero(t, s.Pending(t), "events are still pending after 5 runs")
}

// Metric is the value of a metric of the last run.
func (r Relay) Metric(t *testing.T, name string) any {
	t.Helper()
	lines := r.Metrics(t)
	require.NotEmpty(t, lines)
	return lines[len(lines)-1][name]
}

// Summary is the line that the last run has written to the log.
func (r Relay) Summary(t *testing.T) map[string]any {
	t.Helper()
	for _, line := range slices.Backward(r.Lines(t)) {
		if line["message"] == "run ended" {
			return line
		}
	}
	require.Fail(t, "there is no summary")
	return nil
}
