package postgres_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

const (
	front = math.MinInt64
	// patience is for what the server does in its own time, such as noticing
	// that a client is gone. No test is about how long that takes.
	patience = 20 * time.Second
	tick     = 5 * time.Millisecond
)

var publicOutbox = postgres.Table{Schema: "public", Name: "outbox"}

// everything is a claim that leaves nothing behind.
var everything = outbox.Claim{After: front, Rows: 10_000, Bytes: 64 << 20, EventBytes: 1 << 20}

// database has an outbox and a login that may do what a function does, no more:
// the relay's, where nothing else is said.
type database struct {
	*postgrestest.Database
	login postgrestest.Login
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	return newDatabaseOf(t, postgres.Schema(publicOutbox))
}

// newDatabaseOf has what a script makes in place of the usual tables.
func newDatabaseOf(t *testing.T, script string) *database {
	t.Helper()
	return newDatabaseAs(t, "outbox_relay", script)
}

// newDatabaseAs has a login with another role.
func newDatabaseAs(t *testing.T, role, script string) *database {
	t.Helper()
	db := postgrestest.New(t, postgrestest.Schema(script))
	return &database{db, db.CreateLogin(t, role)}
}

func newDatabaseOn(t *testing.T, server *postgrestest.Server) *database {
	t.Helper()
	db := postgrestest.New(t, postgrestest.On(server), postgrestest.Schema(postgres.Schema(publicOutbox)))
	return &database{db, db.CreateLogin(t, "outbox_relay")}
}

// connect opens a connection as a function of ours does.
func (d *database) connect(ctx context.Context) (*pgx.Conn, error) {
	connector, err := postgres.NewConnector(postgres.Settings{URL: d.login.URL}, nil)
	if err != nil {
		return nil, err
	}
	return connector.Connect(ctx)
}

// session serves public.outbox, and "events" is the bus of rows without one.
func (d *database) session(t *testing.T) outbox.Session {
	t.Helper()
	return openSession(t, d.connect, postgres.StoreConfig{Table: publicOutbox, Bus: "events"})
}

// sessionAndConn also returns the session's connection, to look at from inside.
func (d *database) sessionAndConn(t *testing.T) (outbox.Session, *pgx.Conn) {
	t.Helper()
	var conn *pgx.Conn
	session := openSession(t, func(ctx context.Context) (_ *pgx.Conn, err error) {
		conn, err = d.connect(ctx)
		return conn, err
	}, postgres.StoreConfig{Table: publicOutbox, Bus: "events"})
	return session, conn
}

func openSession(
	t *testing.T, connect func(context.Context) (*pgx.Conn, error), config postgres.StoreConfig,
) outbox.Session {
	t.Helper()
	session, err := postgres.NewStore(connect, config).Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { session.Close(context.WithoutCancel(t.Context())) })
	return session
}

// pending inserts rows that only have what a row must have, seq 1 to n.
func (d *database) pending(t *testing.T, n int) {
	t.Helper()
	d.Exec(t, `INSERT INTO outbox (seq, event_type, payload)
		SELECT n, 'order.placed', jsonb_build_object('n', n) FROM generate_series(1, $1::int) AS n`, n)
}

// seqs returns the numbers that a query of one column yields.
func (d *database) seqs(t *testing.T, sql string) []int64 {
	t.Helper()
	return postgrestest.Scalar[[]int64](t, d.Database, "SELECT coalesce(array_agg(s ORDER BY s), '{}') FROM ("+sql+") AS q(s)")
}

func (d *database) published(t *testing.T) []int64 {
	t.Helper()
	return d.seqs(t, "SELECT seq FROM outbox WHERE published_at IS NOT NULL")
}

// text returns the text that a query yields, "NULL" for null.
func (d *database) text(t *testing.T, sql string, args ...any) string {
	t.Helper()
	return postgrestest.Scalar[string](t, d.Database, "SELECT coalesce(("+sql+")::text, 'NULL')", args...)
}

func (d *database) clock(t *testing.T) time.Time {
	t.Helper()
	return postgrestest.Scalar[time.Time](t, d.Database, "SELECT clock_timestamp()")
}

// states tells what the login's sessions do, as the server sees them.
func (d *database) states(t *testing.T) []string {
	t.Helper()
	return postgrestest.Scalar[[]string](t, d.Database,
		"SELECT coalesce(array_agg(state ORDER BY state), '{}') FROM pg_stat_activity WHERE usename = $1", d.login.Name)
}

// waitForNobody waits until the login's sessions have ended on the server too.
func (d *database) waitForNobody(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return len(d.states(t)) == 0 }, patience, tick)
}

// waitForOne waits until all but one of the login's sessions have ended.
func (d *database) waitForOne(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return len(d.states(t)) == 1 }, patience, tick)
}

func claim(t *testing.T, session outbox.Session, asked outbox.Claim) outbox.Batch {
	t.Helper()
	batch, err := session.Claim(t.Context(), asked)
	require.NoError(t, err)
	return batch
}

// claimSeqs claims in a session of its own and returns the rows it gets.
func (d *database) claimSeqs(t *testing.T, asked outbox.Claim) []int64 {
	t.Helper()
	session := d.session(t)
	batch := claim(t, session, asked)
	if batch.Locked > 0 {
		settle(t, session, outbox.Settlement{})
	}
	session.Close(t.Context())
	return seqsOf(batch)
}

func settle(t *testing.T, session outbox.Session, settlement outbox.Settlement) {
	t.Helper()
	_, receipt, err := session.Settle(t.Context(), settlement, nil)
	require.NoError(t, err)
	require.True(t, receipt.Committed)
}

func seqsOf(batch outbox.Batch) []int64 {
	seqs := []int64{}
	for _, event := range batch.Events {
		seqs = append(seqs, event.Seq)
	}
	return seqs
}

// upTo returns 1 to n.
func upTo(n int64) []int64 { return between(1, n) }

func between(first, last int64) []int64 {
	seqs := []int64{}
	for seq := first; seq <= last; seq++ {
		seqs = append(seqs, seq)
	}
	return seqs
}

// together runs both and returns when both have returned.
func together(functions ...func()) {
	var group sync.WaitGroup
	for _, function := range functions {
		group.Go(function)
	}
	group.Wait()
}
