package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"outboxrelay/internal/lambdatest"
)

// lagSizes say how much there is to measure.
type lagSizes struct{ published, pending int } // rows

func (s *lagSizes) define(flags *flag.FlagSet) {
	flags.IntVar(&s.published, "lag-published", 5_000_000, "published rows of the benchmark lag")
	flags.IntVar(&s.pending, "lag-pending", 100_000, "pending rows of the benchmark lag")
}

func (s *lagSizes) about() string {
	return fmt.Sprintf("%d published and %d pending events, behind an open transaction", s.published, s.pending)
}

const (
	lagRuns = 5                      // warm invocations
	lagMost = 500 * time.Millisecond // that one of them may take
	lagStep = 50_000                 // rows published by one statement
)

// Rows that are written as published, and rows that are published by an update:
// these leave an entry each among the pending ones while vacuum has to wait.
const (
	insertPublished = `INSERT INTO outbox (event_type, payload, published_at)
		SELECT 'OrderPlaced', '{}', clock_timestamp() FROM generate_series(1, $1::int)`
	insertPending = `INSERT INTO outbox (event_type, payload) SELECT 'OrderPlaced', '{}' FROM generate_series(1, $1::int)`
	publish       = `UPDATE outbox SET published_at = clock_timestamp() WHERE published_at IS NULL`
)

// run invokes the function while a transaction is open that is older than every
// row.
func (s *lagSizes) run(ctx context.Context) error {
	if err := s.once(ctx, "written as published", insertPublished); err != nil {
		return err
	}
	return s.once(ctx, "published by updates", insertPending, publish)
}

// once measures with rows that the statements make, in steps.
func (s *lagSizes) once(ctx context.Context, title string, statements ...string) error {
	outbox, err := openOutbox(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = outbox.close() }()
	release, err := outbox.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	for left := s.published; left > 0; left -= lagStep {
		if err := outbox.execute(ctx, min(left, lagStep), statements...); err != nil {
			return err
		}
	}
	if err := outbox.execute(ctx, s.pending, insertPending, "CHECKPOINT"); err != nil {
		return err
	}
	function, err := openLag(ctx, outbox)
	if err != nil {
		return err
	}
	defer function.Close()
	fmt.Printf("  %d rows %s, %d pending\n", s.published, title, s.pending)
	return invokeLag(ctx, function)
}

// hold opens a transaction that sees what there is now, and keeps vacuum from
// what comes, until it is released.
func (o *outboxDatabase) hold(ctx context.Context) (release func(), err error) {
	conn, err := o.database.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT FROM outbox"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return nil, errors.Join(err, conn.Close(ctx))
		}
	}
	return func() { _ = conn.Close(ctx) }, nil
}

// execute runs statements; a parameter of one is a number of rows.
func (o *outboxDatabase) execute(ctx context.Context, rows int, statements ...string) error {
	conn, err := o.database.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement, []any{rows}[:strings.Count(statement, "$1")]...); err != nil {
			return err
		}
	}
	return nil
}

func openLag(ctx context.Context, outbox *outboxDatabase) (*lambdatest.Function, error) {
	url, err := outbox.url(ctx, "outbox_lag")
	if err != nil {
		return nil, err
	}
	bootstrap, err := lambdatest.Build(ctx, "lag")
	if err != nil {
		return nil, err
	}
	env := map[string]string{"DATABASE_URL": url}
	return lambdatest.Open(ctx, lambdatest.Config{Bootstrap: bootstrap, Env: env, Timeout: time.Minute, MemoryMB: memoryMB})
}

// invokeLag prints how long the first invocation takes, which starts the sandbox
// and scans from the front, and those that follow.
func invokeLag(ctx context.Context, function *lambdatest.Function) error {
	var slowest time.Duration
	for run := range 1 + lagRuns {
		began := time.Now()
		response, err := function.Invoke(ctx, nil)
		took := time.Since(began)
		switch {
		case err != nil:
			return err
		case response.ErrorType != "":
			return errors.New(response.ErrorMessage)
		case run == 0:
			fmt.Printf("    cold %4d ms: %s\n", took.Milliseconds(), response.Payload)
		default:
			fmt.Printf("    warm %4d ms\n", took.Milliseconds())
			slowest = max(slowest, took)
		}
	}
	if slowest >= lagMost {
		return fmt.Errorf("a warm invocation took %s, %s or more", slowest.Round(time.Millisecond), lagMost)
	}
	return nil
}
