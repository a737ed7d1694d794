package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed catalog/roles_missing.sql
var rolesMissingSQL string

// MigrateConfig says which tables a Migrator looks after.
type MigrateConfig struct {
	Table Table
	// Interval of the outbox's partitions: day, week or month; empty: there
	// are none, or they are not ours to look after.
	Interval string
	// Ahead is how many partitions are ready for the time to come.
	Ahead int
	// Retention: a partition whose events were all published longer ago is dropped.
	Retention time.Duration
}

// Migrated tells what a run has changed; empty lists and equal versions: nothing.
type Migrated struct {
	From, To int // versions of the tables; 0: there were none
	Applied  []string
	Created  []string // partitions
	Dropped  []string // partitions
}

// Migrator brings the tables to the version that this program needs, and keeps
// the partitions of the outbox.
//
// Every step can be repeated, and is one transaction where PostgreSQL permits
// that, so that a run which breaks off is completed by the next. Nothing blocks
// those who write to the outbox: indexes are built concurrently, and what needs
// a lock on the outbox tries for a tenth of a second and then makes way.
type Migrator struct {
	connect func(context.Context) (*pgx.Conn, error)
	config  MigrateConfig
	log     *slog.Logger
}

// NewMigrator returns a migrator whose connections connect opens: as the owner
// of the tables, or as who may create them. It does not connect yet.
func NewMigrator(connect func(context.Context) (*pgx.Conn, error), config MigrateConfig, log *slog.Logger) *Migrator {
	return &Migrator{connect: connect, config: config, log: log}
}

// Run migrates. What it has changed is told beside an error too. It is an error
// when the tables are of a version that this program does not know, and when an
// application's own table or view lacks what the functions need: then nothing
// was changed.
func (m *Migrator) Run(ctx context.Context) (Migrated, error) {
	release, err := m.guard(ctx)
	if err != nil {
		return Migrated{}, err
	}
	defer release()
	conn, err := m.connect(ctx)
	if err != nil {
		return Migrated{}, err
	}
	link := link{conn: conn, table: m.config.Table}
	defer link.Close(context.WithoutCancel(ctx))
	run := &migrateRun{Migrator: m, conn: conn, table: m.config.Table}
	err = run.migrate(ctx)
	return run.done, explainMigrate(ctx, m.config.Table, err)
}

// migrateRun is one run.
type migrateRun struct {
	*Migrator

	conn  *pgx.Conn
	table Table
	done  Migrated
}

func (r *migrateRun) migrate(ctx context.Context) error {
	found, err := r.inspect(ctx)
	if err != nil {
		return err
	}
	r.done.From, r.done.To = found.version, found.version
	if err := r.check(ctx, found); err != nil {
		return err
	}
	restore, err := r.unlimited(ctx)
	if err != nil {
		return err
	}
	defer restore()
	if err := r.tables(ctx, found); err != nil {
		return err
	}
	if err := r.roles(ctx); err != nil {
		return err
	}
	if err := r.indexes(ctx); err != nil {
		return err
	}
	if r.config.Interval == "" {
		return nil
	}
	return r.partitions(ctx)
}

// check refuses what cannot be migrated before anything is changed.
func (r *migrateRun) check(ctx context.Context, found relation) error {
	switch {
	case found.version > len(migrations):
		return fmt.Errorf("the tables of %s have version %d, this program knows versions up to %d: "+
			"they were migrated by a newer release, deploy that one", r.table, found.version, len(migrations))
	case !found.exists() && found.version > 0:
		return fmt.Errorf("%s says version %d, but %s is gone: restore it, or drop its companions too to begin anew",
			r.table.companion("_schema"), found.version, r.table)
	case r.config.Interval != "" && found.exists() && found.partitionedBy != byCreatedAt:
		return fmt.Errorf("PARTITION_INTERVAL is set, but %s is %s: expected a table partitioned by %s; "+
			"unset PARTITION_INTERVAL, or let migrate create the table", r.table, found, byCreatedAt)
	case found.exists():
		return r.checkColumns(ctx, found)
	}
	return nil
}

// tables applies the migrations that are missing, each with its version in one
// transaction. The last brings the grants along.
func (r *migrateRun) tables(ctx context.Context, found relation) error {
	for version := found.version + 1; version <= len(migrations); version++ {
		name, sql := migrations[version-1].name, r.script(version, found)
		err := errNoRoles
		if version == len(migrations) {
			err = r.grant(ctx, sql)
		}
		if errors.Is(err, errNoRoles) {
			err = r.briefly(ctx, script(ctx, sql))
		}
		if err != nil {
			return fmt.Errorf("apply %s: %w", name, err)
		}
		r.done.To = version
		r.applied(ctx, name)
	}
	return nil
}

// script is what makes a version of the one before. The outbox itself is left
// alone where it is the application's.
func (r *migrateRun) script(version int, found relation) string {
	migration := migrations[version-1]
	script := r.table.rename(migration.others) + setVersion(r.table, version)
	switch {
	case found.exists() && found.version == 0:
		if version == 1 {
			script += found.alike(r.table.companion("_failed"))
		}
		return script
	case version > 1:
		return r.table.rename(migration.outbox) + script
	case r.config.Interval != "":
		return r.partitionedOutbox(migration.outbox) + script
	}
	return r.table.rename(migration.outbox+storageSQL) + script
}

// errNoRoles: who migrates may not make roles, or grant to them.
var errNoRoles = errors.New("roles and grants were not made")

// grant runs a script, and in the same transaction makes roles and grants. It
// is only done for new tables, or where a role is missing: what an operator has
// taken away since stays away.
func (r *migrateRun) grant(ctx context.Context, sql string) error {
	err := r.briefly(ctx, script(ctx, sql+"\n"+r.table.rename(rolesSQL)), duplicateObject, uniqueViolation, internalError)
	if sqlState(err) == insufficientPrivilege {
		r.log.WarnContext(ctx, "roles and grants were not made: have an administrator apply that part of what make schema prints", "error", err)
		return errNoRoles
	}
	return err
}

// roles makes them where one is missing.
func (r *migrateRun) roles(ctx context.Context) error {
	var missing bool
	if err := r.conn.QueryRow(ctx, rolesMissingSQL).Scan(&missing); err != nil {
		return fmt.Errorf("look for the roles: %w", err)
	}
	if !missing {
		return nil
	}
	switch err := r.grant(ctx, ""); {
	case errors.Is(err, errNoRoles):
		return nil
	case err != nil:
		return fmt.Errorf("make roles and grants: %w", err)
	}
	r.applied(ctx, "roles")
	return nil
}

func (r *migrateRun) applied(ctx context.Context, step string) {
	r.done.Applied = append(r.done.Applied, step)
	r.log.InfoContext(ctx, "applied", "step", step)
}

// explainMigrate says what an operator can do.
func explainMigrate(ctx context.Context, table Table, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	switch sqlState(err) {
	case insufficientPrivilege:
		return fmt.Errorf("%w; migrate has to connect as the owner of %s, or as who may create it", err, table)
	case "3F000":
		return fmt.Errorf("%w; create the schema of %s, or correct OUTBOX_TABLE", err, table)
	case readOnly:
		return fmt.Errorf("%w; the connection leads to a read-only server: use the endpoint of the writer", err)
	}
	return err
}
