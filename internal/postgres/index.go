package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"
)

// index is one that a table of the outbox needs.
type index struct {
	suffix string // of its name, after the outbox's
	on     string // the suffix of its table
	// key and condition are written as the server prints them, so that they
	// can be compared with what is there.
	key       string
	condition string // of a partial index; empty: none
	purpose   string
}

// indexes of all tables, but for their primary keys.
var indexes = []index{
	{
		suffix: "_pending", key: "published_at, seq", condition: "published_at IS NULL",
		purpose: "The claim reads this index and nothing else. published_at is null in all of\n" +
			"it and comes first so that its order is one that no other index has.",
	},
	{
		suffix: "_published", key: "published_at, seq", condition: "published_at IS NOT NULL",
		purpose: "The cleanup reads this one, on from the last row that it has deleted.",
	},
	{
		suffix: "_failed_at", on: "_failed", key: "failed_at, seq",
		purpose: "Failed events have a retention of their own,",
	},
	{
		suffix: "_redriven_at", on: "_redriven", key: "redriven_at, seq",
		purpose: "and so has what is known of those that were moved back. Many may have the same\n" +
			"time: those of one redrive, for instance.",
	},
}

// name is the index's, without the schema.
func (i index) name(table Table) string { return table.Name + i.suffix }

// definition is what tells one index from another, as the server prints it.
func (i index) definition() string {
	if i.condition == "" {
		return fmt.Sprintf("(%s)", i.key)
	}
	return fmt.Sprintf("(%s) WHERE (%s)", i.key, i.condition)
}

// create is the statement that makes the index on an empty table, or on one
// that nobody writes to.
func (i index) create(table Table) string {
	return fmt.Sprintf("CREATE INDEX %s ON %s %s", quote(i.name(table)), table.companion(i.on), i.definition())
}

func quote(identifier string) string { return pgx.Identifier{identifier}.Sanitize() }
