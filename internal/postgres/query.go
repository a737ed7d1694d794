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
	//go:embed query/take_turn.sql
	takeTurnSQL string
	//go:embed query/see_turn.sql
	seeTurnSQL string
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
	takeTurn, seeTurn            string
	mark, remove, postpone, fail string
}

func newQueries(table Table) queries {
	return queries{
		begin:    table.statement(beginSQL),
		settings: table.statement(settingsSQL),
		settling: table.statement(settlingSQL),
		claim:    table.statement(claimSQL),
		takeTurn: table.statement(takeTurnSQL),
		seeTurn:  table.statement(seeTurnSQL),
		mark:     table.statement(markSQL),
		remove:   table.statement(deleteSQL),
		postpone: table.statement(deferSQL),
		fail:     table.statement(failSQL),
	}
}

// statement is what a file has, for this table.
func (t Table) statement(file string) string { return t.rename(withoutComments(file)) }

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
