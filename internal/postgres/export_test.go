package postgres

import (
	"strings"
	"time"

	"outboxrelay/internal/outbox"
)

// ClaimSQL returns the statements of a claim's transaction as the store sends
// them, for tests that explain them.
func ClaimSQL(table Table) (begin, settings, claim string) {
	queries := newQueries(table)
	return queries.begin, queries.settings, queries.claim
}

// MissingPartitions returns the bounds of the partitions that would be made.
func MissingPartitions(existing [][2]time.Time, interval string, ahead int, now time.Time) [][2]time.Time {
	var found []partition
	for i := range existing {
		found = append(found, partition{Lower: &existing[i][0], Upper: &existing[i][1]})
	}
	var bounds [][2]time.Time
	for _, span := range missing(found, interval, ahead, now) {
		bounds = append(bounds, [2]time.Time{span.from, span.to})
	}
	return bounds
}

// CleanupSQL returns the statements of a cleanup as the store sends them.
func CleanupSQL(table Table, kind outbox.RowKind) (begin, settings, oldest, remove string) {
	queries := newCleanupQueries(table)
	return queries.begin, queries.settings, queries.kinds[kind].oldest, queries.kinds[kind].remove
}

// LagSQL returns the statements of a measurement's transaction that read rows
// of the outbox or its failed table, and those before them, with a limit of a
// minute.
func LagSQL(table Table) (begin, settings, pending, failed, published string) {
	queries := newLagQueries(table)
	settings = strings.ReplaceAll(queries.settings, "$1", "60000")
	return queries.begin, settings, queries.pending, queries.failed, queries.published
}

// AdminSQL returns the statements of an operator's actions that read the outbox
// or its failed table, and those before them, with a limit of a minute.
func AdminSQL(table Table) (begin, settings string, statements map[string]string) {
	queries := newAdminQueries(table)
	return queries.begin, strings.ReplaceAll(queries.settings, "$1", "60000"), map[string]string{
		"find": queries.find, "lock": queries.lock, "count": queries.count, "known": queries.known,
		"present": queries.present, "redrive": queries.redrive, "discard": queries.discard,
	}
}

// NeededSQL returns the statement that looks whether a partition is needed, and
// what is set before it.
func NeededSQL(table Table) (settings, needed string) {
	return byIndexSQL, table.statement(neededSQL)
}
