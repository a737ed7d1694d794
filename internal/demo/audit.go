package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"outboxrelay/internal/eventbridgetest"
)

//go:embed sql/failed.sql
var failedSQL string

//go:embed sql/kept.sql
var keptSQL string

//go:embed sql/written.sql
var writtenSQL string

// verify holds the ledger against what the bus and the tables say. The lag is
// measured once more, when there is none anymore.
func (p *play) verify(ctx context.Context) (verdict, error) {
	p.lag.runs.add(p.gauge.measure(ctx))
	tables, err := audit(ctx, p.stage.database.URL(), p.ledger.unresolved())
	if err != nil {
		return verdict{}, fmt.Errorf("audit the tables: %w", err)
	}
	p.ledger.resolve(tables.written)
	return judge(account{
		entries:   p.ledger.all(),
		arrivals:  arrivals(p.stage.bus.Accepted()),
		tables:    tables,
		repair:    p.repair,
		deletions: p.tally.all(),
		lags:      p.gauge.all(),
		runs:      p.relay.runs,
		lag:       p.lag.runs,
		cleanup:   p.cleanup.runs,
		evidence:  p.director.evidence,
	}), nil
}

// tables is what is in them at the end.
type tables struct {
	failures map[string]failure // by id
	written  []int              // those orders of the unresolved that are there
	pending  int                // rows that are neither published nor failed
	kept     int                // rows of published events
}

// failure is why an event was given up.
type failure struct {
	seq           int64
	code, message string
}

func audit(ctx context.Context, url string, unresolved []int) (found tables, err error) {
	err = inSession(ctx, url, func(ctx context.Context, conn *pgx.Conn) error {
		if err := conn.QueryRow(ctx, backlogSQL).Scan(&found.pending); err != nil {
			return err
		}
		if err := conn.QueryRow(ctx, keptSQL).Scan(&found.kept); err != nil {
			return err
		}
		if found.failures, err = failures(ctx, conn); err != nil {
			return err
		}
		rows, err := conn.Query(ctx, writtenSQL, unresolved)
		if err != nil {
			return err
		}
		found.written, err = pgx.CollectRows(rows, pgx.RowTo[int])
		return err
	})
	return found, err
}

// readFailures reads the failed table.
func readFailures(ctx context.Context, url string) (found map[string]failure, err error) {
	err = inSession(ctx, url, func(ctx context.Context, conn *pgx.Conn) error {
		found, err = failures(ctx, conn)
		return err
	})
	return found, err
}

func failures(ctx context.Context, conn *pgx.Conn) (map[string]failure, error) {
	rows, err := conn.Query(ctx, failedSQL)
	if err != nil {
		return nil, err
	}
	found := map[string]failure{}
	var id string
	var reason failure
	_, err = pgx.ForEachRow(rows, []any{&id, &reason.seq, &reason.code, &reason.message}, func() error {
		found[id] = reason
		return nil
	})
	return found, err
}

// inSession connects for as long as it takes to do something.
func inSession(ctx context.Context, url string, do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, conn), conn.Close(ctx))
}

// arrivals reads what the bus accepted.
func arrivals(accepted []eventbridgetest.Accepted) []arrival {
	found := make([]arrival, len(accepted))
	for i, a := range accepted {
		var detail struct {
			Metadata struct{ Sequence int64 }
			Data     order
		}
		// What cannot be read is not what was written, which the verdict says.
		_ = json.Unmarshal([]byte(a.Detail), &detail)
		found[i] = arrival{
			id:     a.ID,
			seq:    detail.Metadata.Sequence,
			at:     a.At,
			kind:   a.DetailType,
			source: a.Source,
			data:   detail.Data,
		}
	}
	return found
}
