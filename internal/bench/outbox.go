package main

import (
	"context"
	"errors"
	"fmt"

	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// table is the outbox that benchmarks use.
var table = postgres.Table{Schema: "public", Name: "outbox"}

// outboxDatabase is a database with an outbox, on a server of its own.
type outboxDatabase struct {
	server   *postgrestest.Server
	database *postgrestest.Database
}

func openOutbox(ctx context.Context) (*outboxDatabase, error) {
	server, err := postgrestest.Start(ctx, postgrestest.Options{Durable: true})
	if err != nil {
		return nil, err
	}
	database, err := server.CreateDatabase(ctx, postgres.Schema(table))
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return &outboxDatabase{server, database}, nil
}

// url connects as a role.
func (o *outboxDatabase) url(ctx context.Context, role string) (string, error) {
	login, err := o.database.AddLogin(ctx, role)
	return login.URL, err
}

func (o *outboxDatabase) close() error { return o.server.Stop() }

// fill inserts events with a payload of the given size in bytes.
func (o *outboxDatabase) fill(ctx context.Context, events, size int) error {
	return o.exec(ctx, `
		INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
		SELECT 'order', 'order-' || n, 'OrderPlaced', jsonb_build_object('filler', repeat('x', $2::int - 14))
		FROM generate_series(1, $1::int) AS n`, events, size)
}

// exec runs a statement and has its effects written to disk, so that what is
// measured next does not pay for it.
func (o *outboxDatabase) exec(ctx context.Context, sql string, args ...any) error {
	conn, err := o.database.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range []struct {
		sql  string
		args []any
	}{{sql, args}, {"CHECKPOINT", nil}} {
		if _, err := conn.Exec(ctx, statement.sql, statement.args...); err != nil {
			return fmt.Errorf("prepare the outbox: %w", err)
		}
	}
	return nil
}

// pending counts what the relay has not published.
func (o *outboxDatabase) pending(ctx context.Context) (n int, err error) {
	conn, err := o.database.Connect(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, "SELECT count(*) FROM outbox WHERE published_at IS NULL").Scan(&n)
	return n, err
}
