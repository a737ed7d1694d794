package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// lockWait is how long a step waits for its locks: all who come after it
	// wait as long.
	lockWait = "100ms"
	// lockTries are made, with lockPause between them.
	lockTries = 20
	lockPause = 500 * time.Millisecond
)

// SQLSTATEs that migrating branches on.
const (
	insufficientPrivilege = "42501"
	lockNotAvailable      = "55P03"
	deadlockDetected      = "40P01"
	checkViolation        = "23514"
	duplicateObject       = "42710"
	uniqueViolation       = "23505"
	internalError         = "XX000" // two have changed the same role at once
)

// briefly does work in a transaction that waits for locks only briefly. It comes
// back when others hold them, or when it failed with one of the states that are
// said to pass.
func (r *migrateRun) briefly(ctx context.Context, work func(pgx.Tx) error, passing ...string) error {
	passing = append(passing, lockNotAvailable, deadlockDetected)
	var err error
	for range lockTries {
		err = r.once(ctx, work)
		if err == nil || !slices.Contains(passing, sqlState(err)) || !wait(ctx, lockPause) {
			return err
		}
	}
	return fmt.Errorf("tried %d times, waiting %s for locks: %w", lockTries, lockWait, err)
}

func (r *migrateRun) once(ctx context.Context, work func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true)", lockWait); err != nil {
			return err
		}
		return work(tx)
	})
}

// script is the work of statements, any number of them.
func script(ctx context.Context, sql string) func(pgx.Tx) error {
	return func(tx pgx.Tx) error { return runScript(ctx, tx.Conn(), sql) }
}

// limits are the settings that would end a statement or a transaction of ours.
const limits = "'{statement_timeout,lock_timeout,transaction_timeout,idle_in_transaction_session_timeout}'"

// unlimited takes away the time limits of the role or the database: to build an
// index takes as long as it takes. It does so only where there are any, for
// behind a pooler the session is not ours alone.
func (r *migrateRun) unlimited(ctx context.Context) (restore func(), err error) {
	const lift = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = ANY (" + limits + ") AND setting <> '0'"
	tag, err := r.conn.Exec(ctx, lift)
	if err != nil {
		return nil, fmt.Errorf("lift the session's time limits: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return func() {}, nil
	}
	const reset = "SELECT set_config(name, reset_val, false) FROM pg_settings WHERE name = ANY (" + limits + ")"
	return func() { _, _ = r.conn.Exec(context.WithoutCancel(ctx), reset) }, nil
}

// runScript runs statements, any number of them.
func runScript(ctx context.Context, conn *pgx.Conn, script string) error {
	_, err := conn.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
	return err
}

// sqlState of an error; empty: it has none.
func sqlState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}
