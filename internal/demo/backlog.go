package main

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// queryLimit is for connecting and for one query or script.
const queryLimit = 30 * time.Second

//go:embed sql/backlog.sql
var backlogSQL string

// backlog counts pending events, as a login that may only read.
type backlog struct {
	url string

	mu   sync.Mutex
	conn *pgx.Conn // nil: not connected
}

// read returns how many events are pending.
func (b *backlog) read(ctx context.Context) (pending int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	if b.conn == nil {
		if b.conn, err = pgx.Connect(ctx, b.url); err != nil {
			return 0, fmt.Errorf("count the backlog: %w", err)
		}
	}
	if err := b.conn.QueryRow(ctx, backlogSQL).Scan(&pending); err != nil {
		return 0, fmt.Errorf("count the backlog: %w", err)
	}
	return pending, nil
}

func (b *backlog) close(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryLimit)
	defer cancel()
	return b.conn.Close(ctx)
}
