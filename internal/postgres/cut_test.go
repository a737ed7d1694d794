package postgres_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// proxy forwards one connection to the server, and cuts it on command.
type proxy struct {
	address string
	mode    atomic.Int32
}

const (
	forward     int32 = iota
	cutAnswer         // what the client sends arrives, the answer does not
	cutRequests       // what the client sends may arrive, the answer does not
	silent            // nothing arrives, and nobody is told
)

func startProxy(t *testing.T, server string) *proxy {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{address: listener.Addr().String()}
	var group errgroup.Group
	group.Go(func() error { return p.serve(t.Context(), listener, server) })
	t.Cleanup(func() {
		_ = listener.Close()
		require.NoError(t, group.Wait())
	})
	return p
}

func (p *proxy) serve(ctx context.Context, listener net.Listener, server string) error {
	client, err := listener.Accept()
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	up, err := (&net.Dialer{}).DialContext(ctx, "tcp", server)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	end := sync.OnceFunc(func() {
		_ = client.Close()
		_ = up.Close()
	})
	together(
		func() {
			defer end()
			p.pass(up, client, func(mode int32) (pass, stop bool) { return mode != silent, mode == cutRequests })
		},
		func() {
			defer end()
			p.pass(client, up, func(mode int32) (pass, stop bool) { return mode == forward, mode == cutAnswer || mode == cutRequests })
		},
	)
	return nil
}

// pass forwards what it reads, as the mode at that time says.
func (p *proxy) pass(to io.Writer, from io.Reader, what func(mode int32) (pass, stop bool)) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		pass, stop := what(p.mode.Load())
		if n > 0 && pass {
			_, err = to.Write(buffer[:n])
		}
		if err != nil || stop {
			return
		}
	}
}

// The outcome of a commit without an answer is not known, and recording
// again puts it right either way.
func TestACommitWithoutAnAnswerIsNotSettled(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 60)
	recorder, asked := db.session(t), everything
	asked.Rows = 3
	for round := range 20 {
		mode, next := cutAnswer, &asked
		if round%2 == 1 {
			mode = cutRequests
		}
		if round%4 > 1 {
			next = nil
		}
		line := startProxy(t, fmt.Sprintf("127.0.0.1:%d", db.Server.Port()))
		session := db.sessionThrough(t, line)
		seqs := seqsOf(claim(t, session, asked))
		require.Equal(t, between(int64(3*round+1), int64(3*round+3)), seqs)
		settlement := outbox.Settlement{Published: seqs}

		line.mode.Store(mode)
		batch, receipt, err := session.Settle(t.Context(), settlement, next)

		require.Error(t, err)
		require.NotErrorIs(t, err, outbox.ErrRefused)
		require.False(t, receipt.Committed)
		require.Zero(t, batch)
		session.Close(t.Context())
		if mode == cutAnswer { // the server had committed when it answered
			require.Subset(t, db.published(t), seqs)
		}
		const times = "SELECT jsonb_object_agg(seq, published_at) FROM outbox WHERE published_at IS NOT NULL"
		before := db.text(t, times)
		require.NoError(t, recorder.Record(t.Context(), settlement))
		require.Equal(t, upTo(int64(3*round+3)), db.published(t))
		if mode == cutAnswer {
			require.Equal(t, before, db.text(t, times))
		}
		db.waitForOne(t) // the recorder: rows of the next claim are free
	}
}

func (d *database) sessionThrough(t *testing.T, line *proxy) outbox.Session {
	t.Helper()
	return openSession(t, d.connectThrough(line), postgres.StoreConfig{Table: publicOutbox, Bus: "events"})
}

func (d *database) connectThrough(line *proxy) func(context.Context) (*pgx.Conn, error) {
	return func(ctx context.Context) (*pgx.Conn, error) {
		config, err := pgx.ParseConfig(d.login.URL)
		if err != nil {
			return nil, err
		}
		config.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, line.address)
		}
		return pgx.ConnectConfig(ctx, config)
	}
}

// frozen is the connection of a process that can be stopped, as a sandbox is:
// from then on it reads nothing and closes nothing.
type frozen struct {
	net.Conn

	stopped atomic.Bool
	thawed  chan struct{}
}

func (c *frozen) Read(p []byte) (int, error) {
	if c.stopped.Load() {
		<-c.thawed
		return 0, net.ErrClosed
	}
	return c.Conn.Read(p)
}

func (c *frozen) Close() error {
	if c.stopped.Load() {
		<-c.thawed
	}
	return c.Conn.Close()
}

// Guarantee 5, measured: a relay that is stopped while it receives a claim
// leaves the server in a write that only tcp_user_timeout ends. DROP DATABASE
// waits for such a session too, whatever database it is in (measured), so the
// server is the test's own.
func TestAStopInMidTransferFreesTheRowsWithin30Seconds(t *testing.T) {
	t.Parallel()

	const promised = 30 * time.Second
	db := newDatabaseOn(t, postgrestest.NewServer(t, postgrestest.Options{}))
	db.Exec(t, `INSERT INTO outbox (seq, event_type, payload)
		SELECT n, 'order.placed', to_jsonb(repeat(md5(n::text), 16384)) FROM generate_series(1, 24) AS n`) // 12 MiB
	line := &frozen{thawed: make(chan struct{})}
	session := openSession(t, db.dialWith(func(conn net.Conn) net.Conn { line.Conn = conn; return line }, smallReceiveBuffer),
		postgres.StoreConfig{Table: publicOutbox, Bus: "events"})
	var relay sync.WaitGroup
	t.Cleanup(func() {
		close(line.thawed)
		relay.Wait()
	})
	line.stopped.Store(true)
	began := time.Now()
	relay.Go(func() { _, _ = session.Claim(context.WithoutCancel(t.Context()), everything) })

	const waiting = "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND wait_event = 'ClientWrite'"
	require.Eventually(t, func() bool { return db.QueryInt(t, waiting, db.login.Name) == 1 }, patience, tick)

	other, asked, found := db.session(t), everything, []int64{}
	asked.EventBytes = 1 // their length will do
	require.Eventually(t, func() bool {
		batch, err := other.Claim(t.Context(), asked)
		if err == nil && batch.Locked > 0 {
			_, _, err = other.Settle(t.Context(), outbox.Settlement{Published: seqsOf(batch)}, nil)
		}
		found = append(found, seqsOf(batch)...)
		return err != nil || len(found) == 24
	}, promised-time.Since(began), 250*time.Millisecond)
	require.ElementsMatch(t, upTo(24), found)
	require.Equal(t, upTo(24), db.published(t))
	t.Logf("the rows were free again after %s", time.Since(began))
}

func smallReceiveBuffer(_, _ string, raw syscall.RawConn) (err error) {
	controlErr := raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	if controlErr != nil {
		return controlErr
	}
	return err
}
