package eventbridge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheZeroConfigWorks(t *testing.T) {
	t.Parallel()

	require.NoError(t, Config{}.Validate())
	require.NoError(t, Config{MaxEntries: 1000, EndpointID: "abcde.veo"}.Validate())

	p := New(awsConfig(""), Config{})
	require.Equal(t, 10, p.config.MaxEntries)
	require.Equal(t, 1_000_000, p.config.MaxBytes)
	require.Equal(t, 5*time.Second, p.config.Timeout)
	require.Equal(t, BusWarn, p.config.BusCheck)
	require.NotNil(t, p.config.Logger)
}

func TestValidateReportsEveryProblem(t *testing.T) {
	t.Parallel()

	err := Config{
		DefaultSource: "aws.relay", Envelope: "xml", BusCheck: "maybe", EndpointID: "https://abcde.veo.endpoint.events.amazonaws.com",
		MaxEntries: -1, MaxBytes: -1, Timeout: -1, Concurrency: -1,
	}.Validate()
	for _, problem := range []string{
		"source", "envelope", "bus check", "endpoint id", "entries of a request", "bytes of a request", "timeout", "concurrency",
	} {
		require.ErrorContains(t, err, problem)
	}
}
