package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTableTellsTheVerdict(t *testing.T) {
	t.Parallel()
	v := verdict{
		committed: 4002, rolledBack: 444, delivered: 3980, duplicates: 214, failed: 22, resent: 127, mended: 45, held: 117, deleted: 3000, kept: 980,
		reasons:   map[string]int{"NotAuthorizedForSourceException": 23, "InvalidArgument": 22, tooLargeCode: 22},
		latencies: []time.Duration{95_400 * time.Microsecond, 3227 * time.Millisecond},
		lagMost:   4545 * time.Millisecond,
		runs:      runs{good: 11, crashed: 1}, lag: runs{good: 24},
		evidence: evidence{cutOff: make([]string, 127)},
	}

	require.Equal(t, `
  committed        4002   events, by the producers' own ledger
  rolled back       444   events; none of them may arrive
  delivered        3980   distinct events that the bus accepted
  lost                0   neither delivered nor failed with a reason
  invented            0   delivered or failed without being committed
  duplicates        214   127 of the 127 accepted under the kill came again
  failed             22   for good, and discarded by the operator; at first failed
                          22 EventTooLarge, 22 InvalidArgument, 23 NotAuthorizedForSourceException
  redriven           45   failed, were mended, and then delivered with the same id and seq
  held back         117   events of a paused bus, delivered when it was resumed
  deleted          3000   rows of published events, 3s later; 980 are left
  lag            4.545s   at the most before the redrive, 0s at the end, measured 24 times
  latency p50      95ms   from commit to acceptance, faults and pause included
  latency p99    3.227s
  invocations        12   of the relay, 1 killed, 0 with an error

demo: 4002 committed, 3980 delivered, 0 lost, 0 invented, 214 duplicates, 22 failed
`, v.table())
}

func TestTableShowsWhatWentWrongAboveItsLastLine(t *testing.T) {
	t.Parallel()
	r := goodAccount()
	r.arrivals = slices.Delete(r.arrivals, 1, 2)
	r.runs.add(failedResponse("RelayError", "bus orders: it does not exist"), nil)
	v := judge(r)

	lines := strings.Split(strings.TrimSuffix(v.table(), "\n"), "\n")

	require.Contains(t, lines, "The relay returned an error 1 times, at last: RelayError: bus orders: it does not exist")
	require.Contains(t, lines, "NOT AS PROMISED: 1 committed events were neither accepted nor failed with a reason")
	require.Equal(t, "demo: 7 committed, 4 delivered, 1 lost, 0 invented, 1 duplicates, 2 failed", lines[len(lines)-1])
}
