package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTableTellsTheVerdict(t *testing.T) {
	t.Parallel()
	v := verdict{
		committed: 4002, rolledBack: 444, delivered: 3957, duplicates: 214, failed: 45, resent: 127,
		reasons:   map[string]int{"NotAuthorizedForSourceException": 23, "InvalidArgument": 22},
		latencies: []time.Duration{95_400 * time.Microsecond, 3227 * time.Millisecond},
		runs:      runs{good: 11, crashed: 1},
		evidence:  evidence{cutOff: make([]string, 127)},
	}

	require.Equal(t, `
  committed        4002   events, by the producers' own ledger
  rolled back       444   events; none of them may arrive
  delivered        3957   distinct events that the bus accepted
  lost                0   neither delivered nor failed with a reason
  invented            0   delivered or failed without being committed
  duplicates        214   127 of the 127 accepted under the kill came again
  failed             45   22 InvalidArgument, 23 NotAuthorizedForSourceException
  latency p50      95ms   from commit to acceptance, faults included
  latency p99    3.227s
  invocations        12   1 killed, 0 with an error

demo: 4002 committed, 3957 delivered, 0 lost, 0 invented, 214 duplicates, 45 failed
`, v.table())
}

func TestTableShowsWhatWentWrongAboveItsLastLine(t *testing.T) {
	t.Parallel()
	r := goodAccount()
	r.arrivals = r.arrivals[:1]
	r.runs.add(failedResponse("RelayError", "bus orders: it does not exist"), nil)
	v := judge(r)

	lines := strings.Split(strings.TrimSuffix(v.table(), "\n"), "\n")

	require.Contains(t, lines, "The relay returned an error 1 times, at last: RelayError: bus orders: it does not exist")
	require.Contains(t, lines, "NOT AS PROMISED: 1 committed events were neither accepted nor failed with a reason")
	require.Equal(t, "demo: 4 committed, 1 delivered, 1 lost, 0 invented, 0 duplicates, 2 failed", lines[len(lines)-1])
}
