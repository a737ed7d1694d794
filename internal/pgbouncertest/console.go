package pgbouncertest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Show returns what a SHOW command of the console says, a row as column names and texts. The columns differ by version.
func (p *Pooler) Show(tb testing.TB, what string) []map[string]string {
	tb.Helper()
	rows, err := p.ask(tb.Context(), "SHOW "+what)
	if err != nil {
		tb.Fatalf("show %s: %v", what, err)
	}
	return rows
}

func (p *Pooler) order(ctx context.Context, command string) error {
	_, err := p.ask(ctx, command)
	return err
}

// ask sends a command to the console, which speaks the simple protocol only.
func (p *Pooler) ask(ctx context.Context, command string) ([]map[string]string, error) {
	config, err := pgx.ParseConfig(p.consoleURL())
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	results, err := conn.PgConn().Exec(ctx, command).ReadAll()
	if err != nil {
		return nil, err
	}
	var rows []map[string]string
	for _, result := range results {
		for _, values := range result.Rows {
			row := map[string]string{}
			for i, column := range result.FieldDescriptions {
				row[column.Name] = string(values[i])
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// consoleURL does not verify a certificate: the port is on this machine, and its own.
func (p *Pooler) consoleURL() string {
	console := p.url("pgbouncer", consoleUser, p.password)
	if p.tls {
		console += "?sslmode=require"
	}
	return console
}
