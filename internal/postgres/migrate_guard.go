package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed catalog/guard.sql
var guardSQL string

// guardPause is between two looks at whether another migrator has ended.
const guardPause = 200 * time.Millisecond

// guard lets one migrator of an outbox work at a time. The lock belongs to a
// transaction on a connection of its own: one of the session would be lost
// behind a pooler, and an index cannot be built concurrently in a transaction.
// That transaction has no snapshot, so it holds up neither vacuum nor the build.
type guard struct{ link }

// openGuard waits until no other migrator is at work.
func (m *Migrator) openGuard(ctx context.Context) (*guard, error) {
	conn, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	g := &guard{link{conn: conn, table: m.config.Table}}
	if err := g.lock(ctx); err != nil {
		g.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return g, nil
}

func (g *guard) lock(ctx context.Context) error {
	const begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL standard_conforming_strings = on; SELECT set_config(name, '0', true) FROM pg_settings WHERE name = ANY (" + limits + ")"
	if err := atOnce(ctx, func(ctx context.Context) error { return runScript(ctx, g.conn, begin) }); err != nil {
		return err
	}
	for {
		var locked bool
		// In the extended protocol the portal would keep its snapshot. This one
		// has to know how a string ends, which a role's settings may change.
		row := g.conn.QueryRow(ctx, guardSQL, pgx.QueryExecModeSimpleProtocol, g.table.String())
		if err := row.Scan(&locked); err != nil || locked {
			return err
		}
		if !wait(ctx, guardPause) {
			return errors.New("another migrate of these tables is still at work: invoke it again later")
		}
	}
}

// held is an error once the lock is lost, with its connection.
func (g *guard) held(ctx context.Context) error {
	if err := runScript(ctx, g.conn, "SELECT"); err != nil {
		return fmt.Errorf("the lock of this migrate was lost, another may be at work: invoke it again: %w", err)
	}
	return nil
}

// wait reports whether the time has passed before the context ended.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
