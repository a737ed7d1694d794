package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed catalog/holders.sql
var holdersSQL string

const (
	// lockWait is how long a step waits for its locks where those who insert
	// wait as long.
	lockWait = 100 * time.Millisecond
	// lockPatience is how long it is tried again.
	lockPatience = 2 * time.Minute
	// lockPause is the pause between two tries, at the least and in waits. It
	// leaves others more time than it takes, and is random, so that it does not
	// keep step with the batches of relays.
	lockPause  = 100 * time.Millisecond
	lockPauses = 4
)

// briefly does work in a transaction that waits so long for each lock. It comes
// back while others hold them, or when it failed with one of the states that
// are said to pass.
func (r *migrateRun) briefly(ctx context.Context, lock time.Duration, work func(pgx.Tx) error, passing ...string) error {
	passing = append(passing, lockNotAvailable, deadlockDetected)
	for until := time.Now().Add(lockPatience); ; {
		err := r.once(ctx, lock, work)
		if err == nil || !slices.Contains(passing, sqlState(err)) {
			return err
		}
		pause := lockPause + lock + rand.N(lockPauses*lock)
		if time.Now().Add(pause).After(until) || !wait(ctx, pause) {
			return r.heldUp(ctx, err)
		}
	}
}

// heldUp says who is in the way.
func (r *migrateRun) heldUp(ctx context.Context, err error) error {
	var holders string
	if sqlState(err) == lockNotAvailable && r.conn.QueryRow(ctx, holdersSQL, r.table.String()).Scan(&holders) == nil {
		return fmt.Errorf("%w; locks on the outbox are held by %s: invoke migrate again when it is quieter, or end what holds them", err, holders)
	}
	return err
}

// once does it once. What it sees is what is committed when it looks: under a
// stricter default of the role it would be what was there before its locks.
func (r *migrateRun) once(ctx context.Context, lock time.Duration, work func(pgx.Tx) error) error {
	if err := r.guard.held(ctx); err != nil {
		return err
	}
	options := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, r.conn, options, func(tx pgx.Tx) error {
		if err := runScript(ctx, tx.Conn(), fmt.Sprintf("SET LOCAL lock_timeout = %d", lock.Milliseconds())); err != nil {
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

// runScript runs statements, any number of them.
func runScript(ctx context.Context, conn *pgx.Conn, script string) error {
	_, err := conn.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
	return err
}
