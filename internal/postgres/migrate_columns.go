package postgres

import (
	"fmt"
	"slices"
	"strings"
)

// column is one of the contract.
type column struct {
	name    string
	written string // its type in tables of ours
	kinds   []string
	relay   bool // the relay writes to it
	redrive bool // an event that is moved back would not be itself without it
}

// Kinds of types that serve, by base type; anyText are all of the category
// string, anyType whatever can be turned into text.
var (
	wholeNumbers = []string{"bigint", "integer", "smallint"}
	documents    = []string{"jsonb", "json", anyText}
	instants     = []string{"timestamp with time zone"}
)

const (
	anyText = "text"
	anyType = "any"
)

// contract are the columns of the outbox. An application's own table or view
// may have more.
var contract = []column{
	{name: "seq", written: "bigint", kinds: wholeNumbers, redrive: true},
	{name: "id", written: "uuid", kinds: []string{"uuid"}, redrive: true},
	{name: "aggregate_type", written: "text", kinds: []string{anyType}},
	{name: "aggregate_id", written: "text", kinds: []string{anyType}},
	{name: "event_type", written: "text", kinds: []string{anyType}, redrive: true},
	{name: "payload", written: "jsonb", kinds: documents, redrive: true},
	{name: "headers", written: "jsonb", kinds: documents},
	{name: "source", written: "text", kinds: []string{anyText}},
	{name: "topic", written: "text", kinds: []string{anyText}},
	{name: "created_at", written: "timestamp with time zone", kinds: instants},
	{name: "deliver_after", written: "timestamp with time zone", kinds: instants},
	{name: "retry_at", written: "timestamp with time zone", kinds: instants, relay: true},
	{name: "attempts", written: "integer", kinds: wholeNumbers, relay: true, redrive: true},
	{name: "last_error", written: "text", kinds: []string{anyText}, relay: true},
	{name: "published_at", written: "timestamp with time zone", kinds: instants, relay: true},
}

// accepts reports whether a column of this type serves.
func (c column) accepts(found foundColumn) bool {
	for _, kind := range c.kinds {
		if kind == anyType || kind == found.Base || kind == anyText && found.Category == "S" {
			return true
		}
	}
	return false
}

// expected says what would serve, with the first kind as the best choice.
func (c column) expected() string {
	if c.kinds[0] == anyType {
		return c.written
	}
	return strings.Join(c.kinds, " or ")
}

// checkColumns says everything that existing tables lack.
func (r *migrateRun) checkColumns(found relation) error {
	var problems []string
	if found.exists() {
		problems = found.problems()
	}
	for suffix, companion := range found.companions {
		if found.version < len(migrations) {
			problems = append(problems, companion.without(r.table.companion(suffix), companionColumns[suffix])...)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return fmt.Errorf("%s cannot be served: %s", r.table, strings.Join(problems, "; "))
}

// companionColumns are those of companions, which an application may have made
// itself.
var companionColumns = map[string][]string{
	"_failed":   append(contractNames(), "failed_at", "error_code", "error_message", "times_failed"),
	"_redriven": {"seq", "id", "attempts", "failed_at", "error_code", "error_message", "times_failed", "redriven_at"},
	"_paused":   {"topic", "reason", "since"},
	"_schema":   {"version"},
	"_turn":     {"last_value"}, // as a sequence has
}

func contractNames() []string {
	names := make([]string, len(contract))
	for i, column := range contract {
		names[i] = column.name
	}
	return names
}

// without lists columns that a companion lacks.
func (r relation) without(table Table, names []string) []string {
	var problems []string
	for _, name := range names {
		if _, ok := r.column(name); !ok {
			problems = append(problems, fmt.Sprintf("%s has no column %s", table, name))
		}
	}
	return problems
}

// problems lists what keeps an outbox from being served.
func (r relation) problems() []string {
	if !slices.Contains([]string{ordinary, partitioned, view}, r.kind) {
		return []string{"it is " + r.String()}
	}
	var problems []string
	simple := r.takes&takesUpdate != 0 && r.takes&takesDelete != 0
	switch {
	case !simple:
		problems = append(problems, "the view takes no UPDATE or DELETE by itself: "+
			"it has to read one table, without DISTINCT, GROUP BY, LIMIT or set operations")
	case r.instead:
		problems = append(problems, "it has INSTEAD OF triggers or rules: what they pass over would be sent again and again")
	case r.kind != view && !r.numbered:
		problems = append(problems, "no unique index begins with seq, which tells one event from another")
	}
	for _, column := range contract {
		if problem := r.problem(column, simple); problem != "" {
			problems = append(problems, problem)
		}
	}
	return problems
}

// problem is what is wrong with a column. Where the view as a whole cannot be
// written to, no column can.
func (r relation) problem(column column, simple bool) string {
	found, ok := r.column(column.name)
	switch {
	case !ok:
		return fmt.Sprintf("column %s is missing: expected %s", column.name, column.expected())
	case !column.accepts(found):
		return fmt.Sprintf("column %s is %s: expected %s", column.name, found.Written, column.expected())
	case column.name == "seq" && r.kind != view && !found.NotNull:
		return "column seq may be null: an event without a number would never be published"
	case simple && !found.Updatable && column.relay:
		return fmt.Sprintf("column %s cannot be written to: the relay does, so it has to be a plain column of the table", column.name)
	case simple && !found.Updatable && column.redrive:
		return fmt.Sprintf("column %s cannot be written to: a failed event that is moved back would not be the same, "+
			"so it has to be a plain column of the table", column.name)
	}
	return ""
}

func (r relation) column(name string) (foundColumn, bool) {
	i := slices.IndexFunc(r.columns, func(c foundColumn) bool { return c.Name == name })
	if i < 0 {
		return foundColumn{}, false
	}
	return r.columns[i], true
}

// alike gives the failed table the types of an application's own outbox: what
// is copied there has to come back as it was. One that was there before has the
// types that it should have. The new one is empty.
func (r relation) alike(failed Table) string {
	if _, ok := r.companions["_failed"]; ok {
		return ""
	}
	var script strings.Builder
	for _, column := range contract {
		if found, ok := r.column(column.name); ok && found.Written != column.written {
			name := quote(column.name)
			fmt.Fprintf(&script, "\nALTER TABLE %s ALTER COLUMN %s DROP DEFAULT, ALTER COLUMN %s TYPE %s USING NULL::%s;",
				failed, name, name, found.Written, found.Written)
		}
	}
	return script.String()
}
