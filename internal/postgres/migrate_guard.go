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
func (m *Migrator) guard(ctx context.Context) (release func(), err error) {
	conn, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	link := link{conn: conn, table: m.config.Table}
	release = func() { link.Close(context.WithoutCancel(ctx)) }
	if err := link.guard(ctx); err != nil {
		release()
		return nil, fmt.Errorf("wait for others who migrate: %w", err)
	}
	return release, nil
}

func (l link) guard(ctx context.Context) error {
	const begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT set_config(name, '0', true) FROM pg_settings WHERE name = ANY (" + limits + ")"
	if err := runScript(ctx, l.conn, begin); err != nil {
		return err
	}
	for {
		var locked bool
		// In the extended protocol the portal would keep its snapshot.
		row := l.conn.QueryRow(ctx, guardSQL, pgx.QueryExecModeSimpleProtocol, l.table.String())
		if err := row.Scan(&locked); err != nil || locked {
			return err
		}
		if !wait(ctx, guardPause) {
			return errors.New("another migrate of these tables is still at work: invoke it again later")
		}
	}
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
