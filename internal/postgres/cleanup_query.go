package postgres

import (
	_ "embed"

	"outboxrelay/internal/outbox"
)

var (
	//go:embed query/cleanup_settings.sql
	cleanupSettingsSQL string
	//go:embed query/cleanup_took.sql
	cleanupTookSQL string
	//go:embed query/cleanup_oldest_published.sql
	oldestPublishedSQL string
	//go:embed query/cleanup_delete_published.sql
	deletePublishedSQL string
	//go:embed query/cleanup_oldest_failed.sql
	oldestFailedSQL string
	//go:embed query/cleanup_delete_failed.sql
	deleteFailedSQL string
	//go:embed query/cleanup_oldest_redriven.sql
	oldestRedrivenSQL string
	//go:embed query/cleanup_delete_redriven.sql
	deleteRedrivenSQL string
)

// cleanupQueries are the cleanup's statements for one table.
type cleanupQueries struct {
	begin, settings, took string
	kinds                 map[outbox.RowKind]kindQueries
}

// kindQueries are those for one kind of row.
type kindQueries struct{ oldest, remove string }

func newCleanupQueries(table Table) cleanupQueries {
	return cleanupQueries{
		begin:    table.statement(beginSQL),
		settings: table.statement(cleanupSettingsSQL),
		took:     table.statement(cleanupTookSQL),
		kinds: map[outbox.RowKind]kindQueries{
			outbox.PublishedEvents: {table.statement(oldestPublishedSQL), table.statement(deletePublishedSQL)},
			outbox.FailedEvents:    {table.statement(oldestFailedSQL), table.statement(deleteFailedSQL)},
			outbox.Redrives:        {table.statement(oldestRedrivenSQL), table.statement(deleteRedrivenSQL)},
		},
	}
}
