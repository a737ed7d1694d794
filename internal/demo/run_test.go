package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The demo's own faults, each for as short as it takes to have an effect.
func TestDemoProvesItsPromiseAndSaysSoInItsLastLine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the whole demo")
	}
	acts := append([]act(nil), script...)
	for i := range acts {
		acts[i].last = min(acts[i].last, 300*time.Millisecond)
	}
	var out, errs strings.Builder

	code := run(&out, &errs, acts)

	require.Equal(t, exitProved, code, "%s%s", out.String(), errs.String())
	require.Empty(t, errs.String())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Regexp(t, `^demo: \d+ committed, \d+ delivered, 0 lost, 0 invented, \d+ duplicates, \d+ failed$`, lines[len(lines)-1])
}

func TestDemoFailsWhenAFaultHadNoEffect(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the whole demo")
	}
	var out, errs strings.Builder

	code := run(&out, &errs, []act{{name: "all is well", last: time.Second}})

	require.Equal(t, exitFailed, code)
	require.Empty(t, errs.String())
	require.Contains(t, out.String(), "NOT AS PROMISED: the relay was not killed in mid-batch")
}
