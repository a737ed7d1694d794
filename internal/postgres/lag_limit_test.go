package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
)

// silentStore measures over a line that goes dead once the login is over.
func (d *database) silentStore(t *testing.T) *postgres.LagStore {
	t.Helper()
	line := startProxy(t, fmt.Sprintf("127.0.0.1:%d", d.Server.Port()))
	return d.lagStoreOver(func(ctx context.Context) (*pgx.Conn, error) {
		conn, err := d.connectThrough(line)(ctx)
		line.mode.Store(silent)
		return conn, err
	})
}

func TestAnswersInTimeThatTheDatabaseDoesNot(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()

	lag, err := outbox.NewLagProbe(db.silentStore(t), slog.New(slog.DiscardHandler)).Measure(ctx)

	require.NoError(t, ctx.Err(), "there is no time left to answer in")
	require.Zero(t, lag)
	require.ErrorContains(t, err, "the database did not answer within ")
	require.NotContains(t, err.Error(), "longer timeout")
}

// However far the deadline is.
func TestWaitsForTheDatabaseLittleLongerThanItMayWork(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	scan := fromFront
	scan.Limit = 50 * time.Millisecond

	measured, err := db.silentStore(t).Measure(ctx, scan)

	require.Zero(t, measured)
	require.NotErrorIs(t, err, outbox.ErrTooSlow)
	require.ErrorContains(t, err, "the database did not answer within 550ms")
}

// slowDown adds a published row, and makes each reading of a row of the outbox
// take so many seconds.
func (d *database) slowDown(t *testing.T, seconds float64) {
	t.Helper()
	d.Exec(t, fmt.Sprintf(`ALTER TABLE outbox RENAME TO rows;
		CREATE VIEW outbox AS SELECT seq, topic, created_at, deliver_after, published_at FROM rows, LATERAL pg_sleep(%g) AS s;
		GRANT SELECT ON outbox TO outbox_lag`, seconds))
	d.Exec(t, "INSERT INTO rows (seq, event_type, payload, published_at) VALUES (0, 'a', '{}', now())")
}

func TestSaysThatAMeasurementTookTooLong(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.slowDown(t, 10)
	scan := fromFront
	scan.Limit = 50 * time.Millisecond

	measured, err := db.lagStore().Measure(t.Context(), scan)

	require.Zero(t, measured)
	require.ErrorIs(t, err, outbox.ErrTooSlow)
	require.ErrorContains(t, err, "the limit is 50ms")
	require.ErrorContains(t, err, "give the function a longer timeout")
}

// The only row is read by two of them, for the greatest seq and as the one that
// was published first.
func TestStatementsShareTheLimitOfAMeasurement(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.slowDown(t, 2)
	scan := fromFront
	scan.Limit = 3500 * time.Millisecond

	_, err := db.lagStore().Measure(t.Context(), scan)

	require.ErrorIs(t, err, outbox.ErrTooSlow)
	require.ErrorContains(t, err, "find the oldest published row: ")
}

// The server is the first to notice, and says what was slow.
func TestADatabaseThatIsTooSlowForTheDeadlineIsNotTakenForADeadOne(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.slowDown(t, 10)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()

	_, err := outbox.NewLagProbe(db.lagStore(), slog.New(slog.DiscardHandler)).Measure(ctx)

	require.NoError(t, ctx.Err())
	require.ErrorIs(t, err, outbox.ErrTooSlow)
	require.ErrorContains(t, err, "measure pending rows: ")
}

func TestConnectingMayLeaveNoTimeToMeasure(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	conn, err := db.connect(t.Context())
	require.NoError(t, err)
	store := db.lagStoreOver(func(context.Context) (*pgx.Conn, error) { return conn, nil })
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()

	measured, err := store.Measure(ctx, fromFront)

	require.Zero(t, measured)
	require.ErrorContains(t, err, "connecting left no time to measure: give the function a longer timeout")
	db.waitForNobody(t)
}
