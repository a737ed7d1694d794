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

//go:embed sql/written.sql
var writtenSQL string

// verify holds the ledger against what the bus and the tables say.
func (p *play) verify(ctx context.Context) (verdict, error) {
	tables, err := audit(ctx, p.stage.database.URL(), p.ledger.unresolved())
	if err != nil {
		return verdict{}, fmt.Errorf("audit the tables: %w", err)
	}
	p.ledger.resolve(tables.written)
	return judge(account{
		entries:  p.ledger.all(),
		arrivals: arrivals(p.stage.bus.Accepted()),
		failures: tables.failures,
		pending:  tables.pending,
		runs:     p.schedule.runs,
		evidence: p.director.evidence,
	}), nil
}

// tables is what is in them at the end.
type tables struct {
	failures map[string]failure // by id
	written  []string           // those ids of the unresolved that are there
	pending  int
}

// failure is why an event was given up.
type failure struct{ code, message string }

func audit(ctx context.Context, url string, unresolved []string) (_ tables, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return tables{}, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	found := tables{}
	if err := conn.QueryRow(ctx, backlogSQL).Scan(&found.pending); err != nil {
		return tables{}, err
	}
	if found.failures, err = failures(ctx, conn); err != nil {
		return tables{}, err
	}
	rows, err := conn.Query(ctx, writtenSQL, unresolved)
	if err != nil {
		return tables{}, err
	}
	found.written, err = pgx.CollectRows(rows, pgx.RowTo[string])
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
	_, err = pgx.ForEachRow(rows, []any{&id, &reason.code, &reason.message}, func() error {
		found[id] = reason
		return nil
	})
	return found, err
}

// arrivals reads what the bus accepted.
func arrivals(accepted []eventbridgetest.Accepted) []arrival {
	found := make([]arrival, len(accepted))
	for i, a := range accepted {
		var detail struct{ Data order }
		// What cannot be read is not what was written, which the verdict says.
		_ = json.Unmarshal([]byte(a.Detail), &detail)
		found[i] = arrival{id: a.ID, at: a.At, kind: a.DetailType, data: detail.Data}
	}
	return found
}
