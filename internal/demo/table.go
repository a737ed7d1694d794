package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// table is the verdict for a person to read. Its last line is for machines too.
func (v *verdict) table() string {
	var text strings.Builder
	row := func(name string, value any, remark string) {
		line := fmt.Sprintf("  %-12s %8v   %s", name, value, remark)
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	text.WriteString("\n")
	row("committed", v.committed, "events, by the producers' own ledger")
	row("rolled back", v.rolledBack, "events; none of them may arrive")
	row("delivered", v.delivered, "distinct events that the bus accepted")
	row("lost", v.lost, "neither delivered nor failed with a reason")
	row("invented", v.invented, "delivered or failed without being committed")
	row("duplicates", v.duplicates, fmt.Sprintf("%d of the %d accepted under the kill came again", v.resent, len(v.evidence.cutOff)))
	row("failed", v.failed, "for good, and discarded by the operator; at first failed")
	row("", "", strings.Join(v.failedByCode(), ", "))
	row("redriven", v.mended, "failed, were mended, and then delivered with the same id and seq")
	row("held back", v.held, "events of a paused bus, delivered when it was resumed")
	row("deleted", v.deleted, fmt.Sprintf("rows of published events, %v later; %d are left", retention, v.kept))
	row("lag", rounded(v.lagMost), fmt.Sprintf("at the most before the redrive, %v at the end, measured %d times", rounded(v.lagLast.oldest), v.lag.good))
	row("latency p50", rounded(percentile(v.latencies, 50)), "from commit to acceptance, faults and pause included")
	row("latency p99", rounded(percentile(v.latencies, 99)), "")
	row("invocations", v.runs.all(), fmt.Sprintf("of the relay, %d killed, %d with an error", v.runs.crashed, v.runs.errors))
	text.WriteString("\n")
	v.writeTroubles(&text)
	fmt.Fprintf(&text, "demo: %d committed, %d delivered, %d lost, %d invented, %d duplicates, %d failed\n",
		v.committed, v.delivered, v.lost, v.invented, v.duplicates, v.failed)
	return text.String()
}

// writeTroubles says what the relay returned, which may be as it should be, and
// what must not be.
func (v *verdict) writeTroubles(text *strings.Builder) {
	if v.runs.errors > 0 {
		fmt.Fprintf(text, "The relay returned an error %d times, at last: %s\n\n", v.runs.errors, v.runs.lastError)
	}
	problems := v.problems()
	for _, problem := range problems {
		fmt.Fprintf(text, "NOT AS PROMISED: %s\n", problem)
	}
	if len(problems) > 0 {
		text.WriteString("\n")
	}
}

func (v *verdict) failedByCode() []string {
	var groups []string
	for _, code := range slices.Sorted(maps.Keys(v.reasons)) {
		groups = append(groups, fmt.Sprintf("%d %s", v.reasons[code], code))
	}
	return groups
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
