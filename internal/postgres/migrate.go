package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

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
// that, so that a run which breaks off is completed by the next. Who writes to
// the outbox is not held up: indexes are built concurrently, and what needs
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
// when the tables are of a newer version that does not serve this program, and when an
// application's own table or view lacks what the functions need: then nothing
// was changed.
func (m *Migrator) Run(ctx context.Context) (Migrated, error) {
	run := &migrateRun{Migrator: m, table: m.config.Table}
	err := run.guarded(ctx)
	return run.done, m.explain(ctx, err)
}

// migrateRun is one run.
type migrateRun struct {
	*Migrator

	table Table
	guard *guard
	conn  *pgx.Conn
	done  Migrated

	backends []int // the server's processes that have worked for conn, in turn
}

// guarded migrates while no other migrator of the outbox does.
func (r *migrateRun) guarded(ctx context.Context) (err error) {
	if r.conn, err = r.connect(ctx); err != nil {
		return err
	}
	defer link{conn: r.conn}.Close(context.WithoutCancel(ctx))
	for range 2 {
		if err := r.noteBackend(ctx); err != nil {
			return err
		}
	}
	if r.guard, err = r.openGuard(ctx); err != nil {
		return fmt.Errorf("wait for others who migrate: %w", err)
	}
	defer r.guard.Close(context.WithoutCancel(ctx))
	if err := r.noteBackend(ctx); err != nil {
		return err
	}
	return r.migrate(ctx)
}

func (r *migrateRun) migrate(ctx context.Context) error {
	if err := r.unlimited(ctx); err != nil {
		return err
	}
	found, err := r.inspect(ctx)
	if err != nil {
		return err
	}
	r.done.From, r.done.To = found.version, found.version
	if err := r.check(found); err != nil {
		return err
	}
	if found.version > len(migrations) {
		return r.leave(ctx, found)
	}
	if err := r.tables(ctx, found); err != nil {
		return err
	}
	if err := r.grants(ctx); err != nil {
		return err
	}
	err = r.indexes(ctx)
	if r.config.Interval != "" {
		err = errors.Join(err, r.partitions(ctx)) // one must not wait for the other
	}
	return err
}

// check refuses what cannot be migrated before anything is changed.
func (r *migrateRun) check(found relation) error {
	switch {
	case found.serves > len(migrations):
		return fmt.Errorf("the tables of %s have version %d, this program knows versions up to %d: "+
			"they were migrated by a newer release, deploy that one", r.table, found.version, len(migrations))
	case !found.exists() && found.version > 0:
		return fmt.Errorf("%s says version %d, but %s is gone: restore it, or, to begin anew, drop its companions too, "+
			"once %s holds no event that is still to be published",
			r.table.companion("_schema"), found.version, r.table, r.table.companion("_failed"))
	case r.config.Interval != "" && found.exists() && found.partitionedBy != byCreatedAt:
		return fmt.Errorf("PARTITION_INTERVAL is set, but %s is %s: expected a table partitioned by %s; "+
			"unset PARTITION_INTERVAL, or let migrate create the table", r.table, found, byCreatedAt)
	}
	return r.checkColumns(found)
}

// leave changes nothing about tables of a newer version that serve this program's
// functions too: a deployment was rolled back to them after it had migrated.
func (r *migrateRun) leave(ctx context.Context, found relation) error {
	r.log.WarnContext(ctx, "the tables are of a newer version and left as they are, which serves these functions too",
		"version", found.version, "known", len(migrations))
	if r.config.Interval != "" {
		return r.partitions(ctx)
	}
	return nil
}

// tables applies the migrations that are missing, with the grants, in one
// transaction.
func (r *migrateRun) tables(ctx context.Context, found relation) error {
	if found.version == len(migrations) {
		return nil
	}
	sql, names, err := r.script(ctx, found)
	if err != nil {
		return err
	}
	err = r.briefly(ctx, lockWait, func(tx pgx.Tx) error {
		if err := runScript(ctx, tx.Conn(), sql); err != nil {
			return err
		}
		return r.grant(ctx, tx)
	}, concurrentRoles...)
	if err != nil {
		return fmt.Errorf("apply the migrations from version %d: %w", found.version, err)
	}
	r.done.To = len(migrations)
	r.applied(ctx, names...)
	return nil
}

// script makes the newest version of the one that was found. The outbox itself
// is left alone where it is the application's.
func (r *migrateRun) script(ctx context.Context, found relation) (sql string, names []string, err error) {
	adopted := found.adopted || found.exists() && found.version == 0
	for version := found.version + 1; version <= len(migrations); version++ {
		migration := migrations[version-1]
		names = append(names, migration.name)
		switch {
		case adopted:
		case version == 1 && r.config.Interval != "":
			sql += r.partitionedOutbox(migration.outbox)
		case version == 1:
			sql += r.table.rename(migration.outbox + storageSQL)
		default:
			sql += r.table.rename(migration.outbox)
		}
		sql += r.table.rename(migration.others) + setVersion(r.table, version)
		if migration.revoke && found.version > 0 {
			revoke, err := r.revoke(ctx)
			if err != nil {
				return "", nil, err
			}
			sql += revoke
		}
	}
	if adopted && found.version == 0 {
		sql += found.alike(r.table.companion("_failed")) +
			fmt.Sprintf("\nUPDATE %s SET adopted = true;", r.table.companion("_schema"))
	}
	return sql, names, nil
}

func (r *migrateRun) applied(ctx context.Context, steps ...string) {
	r.done.Applied = append(r.done.Applied, steps...)
	for _, step := range steps {
		r.log.InfoContext(ctx, "applied", "step", step)
	}
}

// explain says what an operator can do.
func (m *Migrator) explain(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	switch sqlState(err) {
	case insufficientPrivilege:
		return fmt.Errorf("%w; migrate has to connect as the owner of %s, or as who may create it", err, m.config.Table)
	case invalidSchema:
		return fmt.Errorf("%w; create the schema of %s, or correct OUTBOX_TABLE", err, m.config.Table)
	case readOnly:
		return fmt.Errorf("%w; %s", err, readOnlyHint)
	}
	return err
}
