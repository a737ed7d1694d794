package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"
)

const (
	producerCount = 10
	// transactionLimit is for connecting and for a transaction, its time open
	// included.
	transactionLimit = 15 * time.Second
)

//go:embed sql/order.sql
var orderSQL string

//go:embed sql/event.sql
var eventSQL string

// producers are the application: they write orders with their events.
type producers struct {
	url    string
	ledger *ledger
	next   atomic.Int64
}

// run has them all write until they are told to stop, each with a connection
// of its own. The transactions they have begun by then they end.
func (p *producers) run(ctx context.Context, stop <-chan struct{}) error {
	group, ctx := errgroup.WithContext(ctx)
	for range producerCount {
		group.Go(func() error { return p.produce(ctx, stop) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	return nil
}

func (p *producers) produce(ctx context.Context, stop <-chan struct{}) error {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close(context.WithoutCancel(ctx))
		}
	}()
	for {
		var err error
		if conn, err = p.connected(ctx, conn); err != nil {
			return err
		}
		if err := p.write(ctx, conn, newTransaction(int(p.next.Add(1)))); err != nil {
			return err
		}
		select {
		case <-time.After(time.Duration(20+rand.IntN(40)) * time.Millisecond):
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// connected opens another connection where the last one was lost.
func (p *producers) connected(ctx context.Context, conn *pgx.Conn) (*pgx.Conn, error) {
	if conn != nil && !conn.IsClosed() {
		return conn, nil
	}
	ctx, cancel := context.WithTimeout(ctx, transactionLimit)
	defer cancel()
	return pgx.Connect(ctx, p.url)
}

// write writes an order and its events in one transaction and tells the ledger
// what became of them.
func (p *producers) write(ctx context.Context, conn *pgx.Conn, t transaction) error {
	ctx, cancel := context.WithTimeout(ctx, transactionLimit)
	defer cancel()
	entries := p.ledger.open(t.events, time.Now())
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	if err := insert(ctx, tx, t); err != nil {
		return err
	}
	if err := wait(ctx, t.open); err != nil {
		return err
	}
	if t.rollsBack {
		err := tx.Rollback(ctx)
		p.ledger.settle(entries, rolledBack, time.Time{})
		return err
	}
	err = tx.Commit(ctx)
	// The time is taken after the answer: nothing is committed on our word.
	p.ledger.settle(entries, fateOf(err), time.Now())
	if fateOf(err) == unknown {
		return nil
	}
	return err
}

func insert(ctx context.Context, tx pgx.Tx, t transaction) error {
	if _, err := tx.Exec(ctx, orderSQL, t.order.Number, t.order.Customer, t.order.Cents); err != nil {
		return fmt.Errorf("write order: %w", err)
	}
	for _, e := range t.events {
		payload, err := json.Marshal(e.data)
		if err != nil {
			return fmt.Errorf("write event: %w", err)
		}
		_, err = tx.Exec(ctx, eventSQL, e.id, strconv.Itoa(t.order.Number), e.kind, payload, orNull(e.source), orNull(e.topic))
		if err != nil {
			return fmt.Errorf("write event: %w", err)
		}
	}
	return nil
}

// fateOf tells what a COMMIT came to. An answer of the server's own says that
// the transaction was rolled back; without an answer it may be either.
func fateOf(err error) fate {
	var answer *pgconn.PgError
	switch {
	case err == nil:
		return committed
	case errors.Is(err, pgx.ErrTxCommitRollback), errors.As(err, &answer):
		return rolledBack
	default:
		return unknown
	}
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// wait returns early with the error of the context.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
