package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed catalog/relation.sql
	relationSQL string
	//go:embed catalog/version.sql
	versionSQL string
	//go:embed catalog/columns.sql
	columnsSQL string
)

// byCreatedAt is how an outbox with partitions of ours is partitioned.
const byCreatedAt = "RANGE (created_at)"

// Kinds of relations, as pg_class has them.
const (
	ordinary    = "r"
	view        = "v"
	partitioned = "p"
)

// Commands that a view takes.
const (
	takesUpdate = 4
	takesDelete = 16
)

// relation is what stands at the outbox's name.
type relation struct {
	oid           int64 // 0: nothing is there
	kind          string
	partitionedBy string
	takes         int32
	instead       bool // triggers decide what becomes of a command
	numbered      bool // a unique index begins with seq
	columns       []foundColumn

	companions map[string]relation // those that are there, by suffix
	version    int                 // of the tables; 0: they were not made by migrate or make schema
	serves     int                 // the oldest version of the functions that these can work with
	adopted    bool                // it is the application's
}

func (r relation) exists() bool { return r.oid != 0 }

// String says what it is, to be read by who has expected something else.
func (r relation) String() string {
	switch r.kind {
	case ordinary:
		return "a table without partitions"
	case view:
		return "a view"
	case partitioned:
		return "a table partitioned by " + r.partitionedBy
	}
	return "neither a table nor a view"
}

// foundColumn is a column of it.
type foundColumn struct {
	Name      string
	Written   string // its type, as SQL writes it
	Base      string // its type, or what that domain is made of, without length
	Category  string // of its type, as pg_type has it
	NotNull   bool
	Updatable bool
}

func (r *migrateRun) inspect(ctx context.Context) (found relation, err error) {
	if found, err = r.relation(ctx, r.table); err != nil {
		return relation{}, err
	}
	found.companions = map[string]relation{}
	for suffix := range companionColumns {
		companion, err := r.relation(ctx, r.table.companion(suffix))
		if err != nil {
			return relation{}, err
		}
		if companion.exists() {
			found.companions[suffix] = companion
		}
	}
	if _, ok := found.companions["_schema"]; !ok {
		return found, nil
	}
	err = r.conn.QueryRow(ctx, r.table.rename(versionSQL)).Scan(&found.version, &found.serves, &found.adopted)
	if err != nil {
		return relation{}, fmt.Errorf("read the version in %s: %w", r.table.companion("_schema"), err)
	}
	return found, nil
}

func (r *migrateRun) relation(ctx context.Context, table Table) (relation, error) {
	var found relation
	err := r.conn.QueryRow(ctx, relationSQL, table.Schema, table.Name).
		Scan(&found.oid, &found.kind, &found.partitionedBy, &found.takes, &found.instead, &found.numbered)
	if errors.Is(err, pgx.ErrNoRows) {
		return relation{}, nil
	}
	if err == nil {
		rows, _ := r.conn.Query(ctx, columnsSQL, found.oid) // an error is the rows' too
		found.columns, err = pgx.CollectRows(rows, pgx.RowToStructByPos[foundColumn])
	}
	if err != nil {
		return relation{}, fmt.Errorf("look at %s: %w", table, err)
	}
	return found, nil
}
