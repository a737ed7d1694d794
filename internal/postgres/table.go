package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// Table names the outbox. The tables that belong to it, and a sequence, have its
// schema and its name with a suffix: _failed, _redriven, _paused, _schema, _turn.
type Table struct {
	Schema string // an identifier as it is, not quoted
	Name   string // an identifier as it is, not quoted
}

// String gives the name as SQL writes it.
func (t Table) String() string { return pgx.Identifier{t.Schema, t.Name}.Sanitize() }

// companion names a table that belongs to the outbox.
func (t Table) companion(suffix string) Table { return Table{t.Schema, t.Name + suffix} }

// rename puts the table's names into a statement that is written for
// public.outbox. They are identifiers when they get there: quoted, whatever
// characters they have.
func (t Table) rename(sql string) string {
	var pairs []string
	for _, suffix := range []string{"_failed", "_redriven", "_paused", "_schema", "_turn", ""} {
		pairs = append(pairs, "public.outbox"+suffix, t.companion(suffix).String())
	}
	pairs = append(pairs, "SCHEMA public", "SCHEMA "+quote(t.Schema))
	return strings.NewReplacer(pairs...).Replace(sql)
}
