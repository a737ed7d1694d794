package postgres_test

import (
	"context"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/pgbouncertest"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// promised is how long a frozen function may hold row locks.
const promised = 30 * time.Second

// documented are the settings of docs/poolers.md: those that are needed, and
// those that cover the rest.
func documented(t *testing.T) (needed, further map[string]string) {
	t.Helper()
	blocks := readDocumentNamed(t, "poolers.md")["PgBouncer"]["ini"]
	require.Len(t, blocks, 2)
	return settingsOf(blocks[0]), settingsOf(blocks[1])
}

func settingsOf(ini string) map[string]string {
	settings := map[string]string{}
	for line := range strings.Lines(ini) {
		if name, value, found := strings.Cut(line, "="); found {
			settings[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return settings
}

// That these end a connection whose other end is frozen with its machine was
// measured by hand: it takes a network to cut.
func TestTheDocumentedKeepalivesEndInTimeWhatIsSilent(t *testing.T) {
	t.Parallel()

	needed, _ := documented(t)
	pooler := pgbouncertest.New(t, newDatabase(t).Server, pgbouncertest.Options{Settings: needed})
	config := map[string]string{}
	for _, row := range pooler.Show(t, "CONFIG") {
		config[row["key"]] = row["value"]
	}
	seconds := func(name string) int {
		n, err := strconv.Atoi(config[name])
		require.NoError(t, err, name)
		require.Positive(t, n, name)
		return n
	}
	require.Less(t, seconds("tcp_keepidle")+seconds("tcp_keepintvl")*seconds("tcp_keepcnt"), int(promised.Seconds())/2+5)
	require.Equal(t, "transaction", config["pool_mode"])
}

// waitForRows requires that all rows are free again in time. A pooler looks only
// every third of a second.
func (d *database) waitForRows(t *testing.T, rows int) {
	t.Helper()
	const free = "SELECT count(*) FROM (SELECT FROM outbox FOR UPDATE SKIP LOCKED) AS free"
	require.Less(t, d.QueryInt(t, free), rows, "no row is locked")
	began := time.Now()
	require.Eventually(t, func() bool { return d.QueryInt(t, free) == rows }, promised, 250*time.Millisecond)
	t.Logf("the rows were free again after %s", time.Since(began))
}

// The rows are wide, 4 MiB: a statement that is cancelled ends after a row, and a
// socket that a writer waits for has room for a third of what it can hold. The server is the test's own: DROP DATABASE waits for a session that writes.
func TestAStopInMidTransferThroughAPoolerFreesTheRowsWithin30Seconds(t *testing.T) {
	t.Parallel()

	needed, further := documented(t)
	maps.Copy(further, needed)
	for name, options := range map[string]pgbouncertest.Options{
		"OverTCP":    {Settings: needed},
		"OverSocket": {OverSocket: true, Settings: further},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			const rows = 10
			db := newDatabaseOn(t, postgrestest.NewServer(t, postgrestest.Options{}))
			db.Exec(t, `INSERT INTO outbox (seq, event_type, payload)
				SELECT n, 'order.placed', to_jsonb(repeat(md5(n::text), 131072)) FROM generate_series(1, $1::int) AS n`, rows)
			p := behind(t, db.Database, db.login, options)
			line := &frozen{thawed: make(chan struct{})}
			session := openSession(t, p.dialWith(func(conn net.Conn) net.Conn { line.Conn = conn; return line }, smallReceiveBuffer),
				postgres.StoreConfig{Table: publicOutbox, Bus: "events"})
			var relay sync.WaitGroup
			t.Cleanup(func() {
				close(line.thawed)
				relay.Wait()
			})
			line.stopped.Store(true)
			asked := everything
			asked.EventBytes = 16 << 20
			relay.Go(func() { _, _ = session.Claim(context.WithoutCancel(t.Context()), asked) })
			const waiting = "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND wait_event = 'ClientWrite'"
			require.Eventually(t, func() bool { return db.QueryInt(t, waiting, db.login.Name) == 1 }, patience, tick)

			db.waitForRows(t, rows)
		})
	}
}

// The server waits for the rest, which for none of its limits is idle, and the
// pooler answers its keepalives.
func TestAStopInMidSettlementThroughAPoolerFreesTheRowsWithin30Seconds(t *testing.T) {
	t.Parallel()

	needed, further := documented(t)
	maps.Copy(further, needed)
	db := newDatabase(t)
	db.pending(t, 3)
	p := behind(t, db.Database, db.login, pgbouncertest.Options{Settings: further})
	session, conn := p.sessionAndConn(t)
	claim(t, session, everything)
	line := conn.PgConn().Conn()
	half := pgproto3.NewFrontend(line, line)
	half.SendParse(&pgproto3.Parse{Query: "UPDATE outbox SET published_at = now()"})
	half.SendBind(&pgproto3.Bind{})
	half.SendExecute(&pgproto3.Execute{})
	require.NoError(t, half.Flush())

	db.waitForRows(t, 3)

	require.Empty(t, db.published(t))
}
