package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed catalog/indexes.sql
	indexesSQL string
	//go:embed catalog/busy.sql
	busySQL string
)

// busyTries are looks at whether somebody works on a table, guardPause apart.
const busyTries = 50

// foundIndex is an index that a table has.
type foundIndex struct {
	Name       string
	Definition string
	Valid      bool
}

// wanted is an index that a table should have.
type wanted struct {
	table      Table
	name       string // empty: the server is to choose one
	definition string
}

// next is the name under which it is built while another index has its name.
func (w wanted) next() string { return cut(w.name, "_new") }

// indexes makes those that are missing, and those anew that a broken build has
// left invalid or that have another definition. Beneath a view they are the
// application's to make.
func (r *migrateRun) indexes(ctx context.Context) error {
	var errs []error
	for _, index := range indexes {
		want := wanted{r.table.companion(index.on), index.name(r.table), index.definition()}
		if err := r.index(ctx, want); err != nil {
			errs = append(errs, fmt.Errorf("build index %s on %s: %w", want.name, want.table, err))
		}
	}
	return errors.Join(errs...)
}

// index makes sure that there is one, valid, of the definition, whatever its name.
func (r *migrateRun) index(ctx context.Context, want wanted) error {
	table, err := r.relation(ctx, want.table)
	if err != nil {
		return err
	}
	switch table.kind {
	case ordinary:
		_, err = r.plainIndex(ctx, want)
	case partitioned:
		err = r.partitionedIndex(ctx, want)
	}
	return err
}

// plainIndex does so for a table without partitions. It returns the index's name.
func (r *migrateRun) plainIndex(ctx context.Context, want wanted) (string, error) {
	found, err := r.indexesOf(ctx, want.table)
	if err != nil {
		return "", err
	}
	if name, ok := found.valid(want.definition); ok {
		if name == want.next() && found.taken(want.name) {
			return want.name, r.swapIndex(ctx, want) // where a run broke off
		}
		return name, nil
	}
	if found.broken(want) {
		if busy, err := r.busy(ctx, want.table); err != nil || busy {
			return "", errors.Join(err, fmt.Errorf("an index of %s is not valid, and somebody is building it, or vacuuming the table: "+
				"invoke migrate again when that has ended", want.table))
		}
	}
	if err := r.dropBroken(ctx, want, found); err != nil {
		return "", err
	}
	build := r.buildIndex
	if found.taken(want.name) {
		build = r.replaceIndex
	}
	if err := build(ctx, want); err != nil {
		return "", err
	}
	r.applied(ctx, "index "+want.label())
	found, err = r.indexesOf(ctx, want.table)
	name, _ := found.valid(want.definition)
	return name, err
}

// tableIndexes are those of one table.
type tableIndexes []foundIndex

func (r *migrateRun) indexesOf(ctx context.Context, table Table) (tableIndexes, error) {
	rows, _ := r.conn.Query(ctx, indexesSQL, table.Schema, table.Name) // an error is the rows' too
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[foundIndex])
	if err != nil {
		return nil, fmt.Errorf("look for the indexes of %s: %w", table, err)
	}
	return found, nil
}

func (found tableIndexes) valid(definition string) (name string, ok bool) {
	for _, index := range found {
		if index.Valid && index.Definition == definition {
			return index.Name, true
		}
	}
	return "", false
}

// taken reports whether a valid index of another definition has the name.
func (found tableIndexes) taken(name string) bool {
	return slices.ContainsFunc(found, func(index foundIndex) bool { return index.Name == name && index.Valid })
}

// broken reports whether a build has left, or is about to make, such an index.
func (found tableIndexes) broken(want wanted) bool { return slices.ContainsFunc(found, want.brokenBy) }

// brokenBy reports an index that is not valid and in the way of what is wanted.
func (w wanted) brokenBy(index foundIndex) bool {
	return !index.Valid && (index.Definition == w.definition || index.Name == w.name || index.Name == w.next())
}

// busy waits, for a while, as long as somebody else works on the table: an index
// that is being built looks like one that was left.
func (r *migrateRun) busy(ctx context.Context, table Table) (busy bool, err error) {
	for range busyTries {
		if err := r.conn.QueryRow(ctx, busySQL, table.String()).Scan(&busy); err != nil || !busy {
			return busy, err
		}
		if !wait(ctx, guardPause) {
			break
		}
	}
	return true, nil
}

// dropBroken drops what builds that broke off have left on the table.
func (r *migrateRun) dropBroken(ctx context.Context, want wanted, found tableIndexes) error {
	for _, index := range found {
		if !want.brokenBy(index) {
			continue
		}
		if err := r.dropIndex(ctx, Table{want.table.Schema, index.Name}); err != nil {
			return err
		}
	}
	return nil
}

func (r *migrateRun) dropIndex(ctx context.Context, index Table) error {
	if err := r.guard.held(ctx); err != nil {
		return err
	}
	return runScript(ctx, r.conn, "DROP INDEX CONCURRENTLY "+index.String())
}

// buildIndex builds an index while the table is written to. It waits for
// transactions that are open.
func (r *migrateRun) buildIndex(ctx context.Context, want wanted) error {
	if err := r.guard.held(ctx); err != nil {
		return err
	}
	name := ""
	if want.name != "" {
		name = quote(want.name) + " "
	}
	sql := fmt.Sprintf("CREATE INDEX CONCURRENTLY %sON %s %s", name, want.table, want.definition)
	r.log.InfoContext(ctx, "building an index: this waits for open transactions", "statement", sql)
	err := runScript(ctx, r.conn, sql)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w; if it takes longer than a function may run, drop the invalid index and run this in psql: %s", err, sql)
	}
	return err
}

// label names it where it may have no name yet.
func (w wanted) label() string {
	if w.name == "" {
		return "of " + w.table.Name
	}
	return w.name
}

// replaceIndex keeps the old index until the new one is there.
func (r *migrateRun) replaceIndex(ctx context.Context, want wanted) error {
	next := want
	next.name = want.next()
	if err := r.buildIndex(ctx, next); err != nil {
		return err
	}
	return r.swapIndex(ctx, want)
}

// swapIndex puts the new index in the place of the old one.
func (r *migrateRun) swapIndex(ctx context.Context, want wanted) error {
	if err := r.dropIndex(ctx, Table{want.table.Schema, want.name}); err != nil {
		return err
	}
	return r.briefly(ctx, lockWait, script(ctx, want.rename(want.next())))
}

func (w wanted) rename(from string) string {
	return fmt.Sprintf("ALTER INDEX %s RENAME TO %s", Table{w.table.Schema, from}, quote(w.name))
}

// partitionedIndex builds an index for each partition and then joins them: a
// partitioned table has no concurrent build of its own. The whole is valid once
// each partition has its part. An index of another definition stays until then.
func (r *migrateRun) partitionedIndex(ctx context.Context, want wanted) error {
	found, err := r.indexesOf(ctx, want.table)
	if err != nil {
		return err
	}
	whole := want
	same := slices.IndexFunc(found, func(index foundIndex) bool { return index.Definition == want.definition })
	taken := slices.ContainsFunc(found, func(index foundIndex) bool { return index.Name == want.name && index.Definition != want.definition })
	built := same >= 0 && found[same].Valid
	toSwap := taken && built && found[same].Name == want.next()
	switch {
	case built && !toSwap:
		return nil
	case same >= 0:
		whole.name = found[same].Name // where a run broke off
	case taken:
		whole.name = want.next()
		fallthrough
	default:
		only := fmt.Sprintf("CREATE INDEX %s ON ONLY %s %s", quote(whole.name), want.table, want.definition)
		if err := r.briefly(ctx, lockWait, script(ctx, only)); err != nil {
			return err
		}
	}
	if err := r.parts(ctx, whole); err != nil {
		return err
	}
	r.applied(ctx, "index "+want.name)
	if !taken {
		return nil
	}
	swap := fmt.Sprintf("DROP INDEX %s; %s", Table{want.table.Schema, want.name}, want.rename(whole.name))
	return r.briefly(ctx, lockWait, script(ctx, swap))
}

// parts makes the partitions' parts of an index.
func (r *migrateRun) parts(ctx context.Context, whole wanted) error {
	partitions, err := r.partitionsOf(ctx, whole.table)
	if err != nil {
		return err
	}
	for _, part := range partitions {
		name, err := r.plainIndex(ctx, wanted{table: part.table(), definition: whole.definition})
		if err == nil {
			join := fmt.Sprintf("ALTER INDEX %s ATTACH PARTITION %s", Table{whole.table.Schema, whole.name}, Table{part.Schema, name})
			err = r.briefly(ctx, lockWait, script(ctx, join))
		}
		if err != nil {
			return fmt.Errorf("partition %s: %w", part.Name, err)
		}
	}
	return nil
}

// cut joins a name and a suffix into an identifier that is not too long.
func cut(name, suffix string) string {
	const limit = 63 // bytes; the server would cut the end off
	for len(name)+len(suffix) > limit {
		_, last := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-last]
	}
	return name + suffix
}
