package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/pgbouncertest"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// pooled is a database behind a pooler, with a login that may do what all
// functions but migrate do: a pool belongs to one user.
type pooled struct {
	*database
	pooler *pgbouncertest.Pooler
}

func newPooled(t *testing.T, options pgbouncertest.Options) *pooled {
	t.Helper()
	db := newPooledDatabase(t)
	return behind(t, db.Database, db.login, options)
}

func newPooledDatabase(t *testing.T) *database {
	t.Helper()
	db := postgrestest.New(t, postgrestest.Schema(postgres.Schema(publicOutbox)))
	return &database{db, db.CreateLogin(t, "outbox_relay", "outbox_cleanup", "outbox_lag", "outbox_admin")}
}

func behind(t *testing.T, db *postgrestest.Database, login postgrestest.Login, options pgbouncertest.Options) *pooled {
	t.Helper()
	options.Userlist = []postgrestest.Login{login}
	pooler := pgbouncertest.New(t, db.Server, options)
	login.URL = pooler.URL(db.Name, login)
	return &pooled{&database{db, login}, pooler}
}

// plain is a client of the pooler that is none of ours.
func (p *pooled) plain(t *testing.T) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(p.login.URL)
	require.NoError(t, err)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func backendOf(t *testing.T, conn *pgx.Conn) (pid int) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
	return pid
}

// runAll does with public.outbox, which holds pending rows 1 to 6, what the
// functions do, the relay with or without numbers of runs.
func (d *database) runAll(t *testing.T, first, further outbox.Claim) {
	t.Helper()
	d.relay(t, first, further)
	report, err := d.clean(t, outbox.CleanerConfig{Retention: time.Nanosecond, FailedRetention: time.Hour, BatchSize: 10})
	require.NoError(t, err)
	require.Equal(t, 1, report.Deleted)
	probe := outbox.NewLagProbe(d.lagStore(), slog.New(slog.DiscardHandler))
	d.operate(t, outbox.NewAdmin(postgres.NewAdminStore(d.connect, publicOutbox), probe))
}

// relay publishes 1, defers 2, fails 3 and 4, and records 5.
func (d *database) relay(t *testing.T, first, further outbox.Claim) {
	t.Helper()
	session := d.session(t)
	first.Rows, further.Rows = 1, 3
	require.Equal(t, upTo(1), seqsOf(claim(t, session, first)))
	next, receipt, err := session.Settle(t.Context(), outbox.Settlement{Published: upTo(1)}, &further)
	require.NoError(t, err)
	require.True(t, receipt.Committed)
	require.Equal(t, between(2, 4), seqsOf(next))
	require.Equal(t, further.Turn == outbox.SeeTurn, next.Turn == 1)
	settle(t, session, outbox.Settlement{
		Deferred: []outbox.Deferral{{Seq: 2, Delay: time.Hour, Reason: "later"}},
		Failed:   []outbox.Failure{{Seq: 3, Code: "never", Message: "no"}, {Seq: 4, Code: "never", Message: "no"}},
	})
	require.NoError(t, session.Record(t.Context(), outbox.Settlement{
		Deferred: []outbox.Deferral{{Seq: 5, Attempts: outbox.AnyAttempts, Delay: time.Hour}},
	}))
	require.Equal(t, []int64{6}, seqsOf(claim(t, session, everything)))
	settle(t, session, outbox.Settlement{})
	session.Close(t.Context())
}

func (d *database) operate(t *testing.T, admin *outbox.Admin) {
	t.Helper()
	ctx := t.Context()
	result, err := admin.List(ctx, all)
	require.NoError(t, err)
	require.Equal(t, 2, result.Matched)
	result, err = admin.Redrive(ctx, outbox.Selection{All: true, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, 1, result.Changed)
	result, err = admin.Discard(ctx, all)
	require.NoError(t, err)
	require.Equal(t, 1, result.Changed)
	_, err = admin.Pause(ctx, "events", "a reason")
	require.NoError(t, err)
	status, err := admin.Status(ctx)
	require.NoError(t, err)
	require.Len(t, status.Paused, 1)
	_, err = admin.Resume(ctx, "events")
	require.NoError(t, err)
}

// poolers are ways to set one up.
var poolers = map[string]pgbouncertest.Options{
	"Transaction":         {},
	"OneConnection":       {PoolSize: 1},
	"NoReset":             {PoolSize: 1, Settings: map[string]string{"server_reset_query": ""}},
	"ResetAfterEach":      {PoolSize: 1, Settings: map[string]string{"server_reset_query": "DISCARD ALL", "server_reset_query_always": "1"}},
	"RoundRobin":          {PoolSize: 2, Settings: map[string]string{"server_round_robin": "1"}},
	"Session":             {Mode: "session", PoolSize: 2},
	"NewConnectionsOften": {PoolSize: 2, Settings: map[string]string{"server_lifetime": "0"}},
	"OverSocket":          {PoolSize: 2, OverSocket: true},
}

func TestEveryFunctionWorksThroughAPooler(t *testing.T) {
	t.Parallel()

	for name, options := range poolers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p := newPooled(t, options)
			p.pending(t, 6)
			p.runAll(t, taking(), seeing())
		})
	}
}

// sessionState is what a connection of the server would hand on to its next user.
const sessionState = `SELECT jsonb_build_object(
	'settings', (SELECT jsonb_object_agg(name, setting) FROM pg_settings WHERE name <> 'application_name'),
	'prepared', (SELECT count(*) FROM pg_prepared_statements WHERE statement !~ 'pg_prepared_statements'),
	'cursors',  (SELECT count(*) FROM pg_cursors WHERE is_holdable),
	'listens',  (SELECT count(*) FROM pg_listening_channels()),
	'tables',   (SELECT count(*) FROM pg_class WHERE relpersistence = 't'),
	'locks',    (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'))`

func (p *pooled) state(t *testing.T, conn *pgx.Conn) (state map[string]any) {
	t.Helper()
	var text []byte
	require.NoError(t, conn.QueryRow(t.Context(), sessionState).Scan(&text))
	require.NoError(t, json.Unmarshal(text, &state))
	return state
}

// No reset between them: what one leaves behind, the next one has.
func TestNothingIsLeftToTheNextUserOfAConnection(t *testing.T) {
	t.Parallel()

	p := newPooled(t, pgbouncertest.Options{PoolSize: 1, Settings: map[string]string{"server_reset_query": ""}})
	p.pending(t, 6)
	next := p.plain(t)
	before, backend := p.state(t, next), backendOf(t, next)

	p.runAll(t, taking(), seeing())

	require.Equal(t, before, p.state(t, next))
	require.Equal(t, backend, backendOf(t, next), "it was all the same connection")
}

// Somebody else takes the connection of the server after each transaction.
func TestASessionMayHaveAnotherConnectionInEachTransaction(t *testing.T) {
	t.Parallel()

	p := newPooled(t, pgbouncertest.Options{PoolSize: 2})
	p.pending(t, 6)
	p.Exec(t, observed)
	p.Exec(t, "ALTER TABLE observed ADD backend int DEFAULT pg_backend_pid()")
	session, other, asked := p.session(t), p.plain(t), everything
	asked.Rows = 1
	for seq := range int64(5) {
		batch := claim(t, session, asked)
		requireLimits(t, parseLimits(t, batch.Events[0].Payload))
		settle(t, session, outbox.Settlement{Published: between(seq+1, seq+1)})
		_, err := other.Exec(t.Context(), "COMMIT") // a warning, where there is nothing to commit
		require.NoError(t, err)
		_, err = other.Exec(t.Context(), "BEGIN")
		require.NoError(t, err)
	}
	require.NoError(t, session.Record(t.Context(), outbox.Settlement{Published: []int64{6}}))

	require.Equal(t, upTo(6), p.published(t))
	require.Equal(t, 2, p.QueryInt(t, "SELECT count(DISTINCT backend) FROM observed"))
	require.Equal(t, 1, p.QueryInt(t, "SELECT count(DISTINCT settings) FROM observed"))
	requireLimits(t, parseLimits(t, p.text(t, "SELECT settings FROM observed LIMIT 1")))
}

func TestRelaysShareTheConnectionsOfAPooler(t *testing.T) {
	t.Parallel()

	for size := range 3 {
		t.Run(fmt.Sprint(size+1), func(t *testing.T) {
			t.Parallel()

			p := newPooled(t, pgbouncertest.Options{PoolSize: size + 1})
			p.pending(t, 120)
			var relays errgroup.Group
			published := make([][]int64, 4)
			for i := range published {
				session := p.session(t)
				relays.Go(func() (err error) {
					published[i], err = drainAll(t.Context(), session, 3)
					return err
				})
			}
			require.NoError(t, relays.Wait())
			var together []int64
			for _, seqs := range published {
				together = append(together, seqs...)
			}
			require.ElementsMatch(t, upTo(120), together)
			require.Equal(t, upTo(120), p.published(t))
		})
	}
}

// What the driver and we send at the start is all that PgBouncer takes by default.
func TestSaysWhatToDoAboutParametersThatAPoolerRefuses(t *testing.T) {
	t.Parallel()

	p := newPooled(t, pgbouncertest.Options{})
	for parameter, answer := range map[string]string{
		"options=-c%20jit%3Doff": "unsupported startup parameter",
		"statement_timeout=5s":   "unsupported startup parameter: statement_timeout",
	} {
		connector, err := postgres.NewConnector(postgres.Settings{URL: p.login.URL + "&" + parameter}, nil)
		require.NoError(t, err)

		_, err = connector.Connect(t.Context())

		require.ErrorContains(t, err, answer)
		require.ErrorContains(t, err, "leave options and settings of the server out of DATABASE_URL and PGOPTIONS")
	}
}

func TestConnectsToAPoolerWithTLSAndByAQueryForThePassword(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 3)
	certificate, key := postgrestest.SelfSigned(t)
	pooler := pgbouncertest.New(t, db.Server, pgbouncertest.Options{CertFile: certificate, KeyFile: key})
	db.login.URL = pooler.URL(db.Name, db.login) + "?sslrootcert=" + certificate

	require.Equal(t, upTo(3), db.claimSeqs(t, everything))

	db.login.URL = pooler.URL(db.Name, db.login) // verify-full, against roots that do not know it
	_, err := db.connect(t.Context())
	require.ErrorContains(t, err, "set sslrootcert")
}
