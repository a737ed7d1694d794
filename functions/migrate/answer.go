package main

import "outboxrelay/internal/postgres"

// answer is what an invocation returns.
type answer struct {
	From              int      `json:"from"`
	To                int      `json:"to"`
	Applied           []string `json:"applied"`
	PartitionsCreated []string `json:"partitions_created"`
	PartitionsDropped []string `json:"partitions_dropped"`
}

func newAnswer(done postgres.Migrated) answer {
	return answer{
		From:              done.From,
		To:                done.To,
		Applied:           list(done.Applied),
		PartitionsCreated: list(done.Created),
		PartitionsDropped: list(done.Dropped),
	}
}

// list writes none as [], not as null.
func list(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// summary is the one line that a run writes to the log, besides one for each step.
func summary(done postgres.Migrated) []any {
	return []any{
		"from", done.From,
		"to", done.To,
		"applied", list(done.Applied),
		"partitions_created", list(done.Created),
		"partitions_dropped", list(done.Dropped),
	}
}
