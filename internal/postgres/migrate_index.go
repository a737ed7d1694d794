package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

//go:embed catalog/indexes.sql
var indexesSQL string

// foundIndex is an index that a table has.
type foundIndex struct {
	Name       string
	Definition string
	Valid      bool
	Parent     string // the index of the partitioned table that it is part of; empty: none
}

// indexes makes those that are missing, and those anew that a broken build has
// left invalid or that have another definition. Beneath a view they are the
// application's to make.
func (r *migrateRun) indexes(ctx context.Context) error {
	for _, index := range indexes {
		table := r.table.companion(index.on)
		found, err := r.relation(ctx, table)
		if err != nil {
			return fmt.Errorf("look for %s: %w", table, err)
		}
		switch found.kind {
		case ordinary:
			_, err = r.index(ctx, table, index.name(r.table), index.definition())
		case partitioned:
			err = r.partitionedIndex(ctx, table, index.name(r.table), index.definition())
		}
		if err != nil {
			return fmt.Errorf("build index %s: %w", index.name(r.table), err)
		}
	}
	return nil
}

// index makes sure that a table has a valid index of a definition, whatever its
// name. It returns the name.
func (r *migrateRun) index(ctx context.Context, table Table, name, definition string) (string, error) {
	found, err := r.indexesOf(ctx, table)
	if err != nil {
		return "", err
	}
	for _, index := range found {
		if index.Valid && index.Definition == definition {
			return index.Name, nil
		}
	}
	build := r.buildIndex
	if slices.ContainsFunc(found, func(index foundIndex) bool { return index.Name == name && index.Valid }) {
		build = r.replaceIndex
	}
	if err := build(ctx, table, name, definition); err != nil {
		return "", err
	}
	r.applied(ctx, "index "+name)
	return name, nil
}

func (r *migrateRun) indexesOf(ctx context.Context, table Table) ([]foundIndex, error) {
	rows, _ := r.conn.Query(ctx, indexesSQL, table.Schema, table.Name) // an error is the rows' too
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[foundIndex])
	if err != nil {
		return nil, fmt.Errorf("look for the indexes of %s: %w", table, err)
	}
	return found, nil
}

// buildIndex builds an index while the table is written to, in place of what a
// broken build has left. It waits for transactions that are open.
func (r *migrateRun) buildIndex(ctx context.Context, table Table, name, definition string) error {
	if err := r.dropIndex(ctx, table, name); err != nil {
		return err
	}
	r.log.InfoContext(ctx, "building an index: this waits for open transactions", "index", name)
	sql := fmt.Sprintf("CREATE INDEX CONCURRENTLY %s ON %s %s", quote(name), table, definition)
	return runScript(ctx, r.conn, sql)
}

// replaceIndex keeps the old index until the new one is there.
func (r *migrateRun) replaceIndex(ctx context.Context, table Table, name, definition string) error {
	next := cut(name, "_new")
	if err := r.buildIndex(ctx, table, next, definition); err != nil {
		return err
	}
	if err := r.dropIndex(ctx, table, name); err != nil {
		return err
	}
	rename := fmt.Sprintf("ALTER INDEX %s RENAME TO %s", Table{table.Schema, next}, quote(name))
	return r.briefly(ctx, script(ctx, rename))
}

func (r *migrateRun) dropIndex(ctx context.Context, table Table, name string) error {
	return runScript(ctx, r.conn, fmt.Sprintf("DROP INDEX CONCURRENTLY IF EXISTS %s", Table{table.Schema, name}))
}

// partitionedIndex builds an index for each partition and then joins them: a
// partitioned table has no concurrent build of its own. The whole is valid once
// each partition has its part.
func (r *migrateRun) partitionedIndex(ctx context.Context, table Table, name, definition string) error {
	found, err := r.indexesOf(ctx, table)
	if err != nil {
		return err
	}
	same := func(index foundIndex) bool { return index.Definition == definition }
	if i := slices.IndexFunc(found, same); i >= 0 {
		if found[i].Valid {
			return nil
		}
		name = found[i].Name
	} else if err := r.briefly(ctx, script(ctx, fmt.Sprintf("CREATE INDEX %s ON ONLY %s %s", quote(name), table, definition))); err != nil {
		return err
	}
	parts, err := r.partitionsOf(ctx, table)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := r.partIndex(ctx, part.table(), Table{table.Schema, name}, definition); err != nil {
			return fmt.Errorf("partition %s: %w", part.Name, err)
		}
	}
	r.applied(ctx, "index "+name)
	return nil
}

// partIndex makes a partition's part of an index.
func (r *migrateRun) partIndex(ctx context.Context, part, whole Table, definition string) error {
	name, err := r.index(ctx, part, cut(part.Name, "_"+whole.Name), definition)
	if err != nil {
		return err
	}
	return r.briefly(ctx, script(ctx, fmt.Sprintf("ALTER INDEX %s ATTACH PARTITION %s", whole, Table{part.Schema, name})))
}

// cut joins a name and a suffix into an identifier that is not too long.
func cut(name, suffix string) string {
	const limit = 63 // bytes; the server would cut the end off
	return name[:min(len(name), max(0, limit-len(suffix)))] + suffix
}
