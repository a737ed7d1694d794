package postgres

import (
	_ "embed"
	"strings"
)

// The statements, as the files have them.
var (
	//go:embed query/begin.sql
	beginSQL string
	//go:embed query/settings.sql
	settingsSQL string
	//go:embed query/settling.sql
	settlingSQL string
	//go:embed query/claim.sql
	claimSQL string
	//go:embed query/mark.sql
	markSQL string
	//go:embed query/delete.sql
	deleteSQL string
	//go:embed query/defer.sql
	deferSQL string
	//go:embed query/fail.sql
	failSQL string
)

// queries are the statements for one table.
type queries struct {
	begin, settings, settling    string
	claim                        string
	mark, remove, postpone, fail string
}

func newQueries(table Table) queries {
	statement := func(file string) string { return table.rename(withoutComments(file)) }
	return queries{
		begin:    statement(beginSQL),
		settings: statement(settingsSQL),
		settling: statement(settlingSQL),
		claim:    statement(claimSQL),
		mark:     statement(markSQL),
		remove:   statement(deleteSQL),
		postpone: statement(deferSQL),
		fail:     statement(failSQL),
	}
}

// withoutComments drops comment lines: they are for the reader of the file, and
// every statement crosses the network each time it is run.
func withoutComments(sql string) string {
	var kept []string
	for line := range strings.Lines(sql) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "--") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
