package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// callLimit bounds one round trip, such as a settling and the claim after
	// it. The server's own limits come first unless the network is what hangs.
	callLimit  = 20 * time.Second
	closeLimit = 500 * time.Millisecond
)

// link is a connection, with what its errors have to tell an operator.
type link struct {
	conn  *pgx.Conn
	table Table
	role  string // that the user should have
}

func (l link) pipeline() *pipeline { return &pipeline{conn: l.conn} }

func (l link) run(ctx context.Context, p *pipeline) error { return l.runWithin(ctx, callLimit, p) }

// runWithin runs a pipeline under a limit of its own.
func (l link) runWithin(ctx context.Context, limit time.Duration, p *pipeline) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("the database did not answer within %s", limit))
	defer cancel()
	err := p.run(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return explain(l.table, l.role, err)
}

// Close ends the connection and with it an open transaction.
func (l link) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	_ = l.conn.Close(ctx) // nothing is owed: the server rolls back what is open
	// Of a connection that failed the driver takes leave in the background, for
	// up to 15 seconds. That is not to outlive the invocation.
	select {
	case <-l.conn.PgConn().CleanupDone():
	case <-ctx.Done():
		_ = l.conn.PgConn().Conn().Close()
	}
}

// commit is the step that ends a transaction. The server answers it with a
// rollback, and no error, where the transaction has failed.
func commit(committed func()) step {
	return step{name: commitStep, done: func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("the server answered %q", tag)
		}
		if committed != nil {
			committed()
		}
		return nil
	}}
}
