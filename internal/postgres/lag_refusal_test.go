package postgres_test

import (
	"context"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

func TestSaysWhatToDoWhenAMeasurementIsRefused(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ change, says, advises string }{
		"WithoutTheTable": {
			"DROP TABLE outbox", `relation "public.outbox" does not exist`, "or correct OUTBOX_TABLE",
		},
		"WithoutTheFailedTable": {
			"DROP TABLE outbox_failed", `relation "public.outbox_failed" does not exist`, `bring the tables of "public"."outbox" up to date`,
		},
		"WithoutThePausedTable": {
			"DROP TABLE outbox_paused", `relation "public.outbox_paused" does not exist`, `bring the tables of "public"."outbox" up to date`,
		},
		"WithoutAColumn": {
			"ALTER TABLE outbox DROP COLUMN deliver_after", `column "deliver_after" does not exist`, "lacks a column of the contract",
		},
		"WithoutTheRightToRead": {
			"REVOKE SELECT (topic) ON outbox FROM outbox_lag", "permission denied for table outbox", "give the user the role outbox_lag",
		},
		"WithTimesWithoutZone": {
			"ALTER TABLE outbox ALTER COLUMN created_at TYPE timestamp", "column created_at must be of type timestamptz", "so that a time means the same to everyone",
		},
		"WithTextForTimes": {
			"ALTER TABLE outbox ALTER COLUMN created_at DROP DEFAULT, ALTER COLUMN created_at TYPE text",
			"column created_at must be of type timestamptz", "so that a time means the same to everyone",
		},
	} {
		for rows, number := range map[string]int{"OnAnEmptyTable": 0, "WithRows": 2} {
			t.Run(name+rows, func(t *testing.T) {
				t.Parallel()

				db := newLagDatabase(t)
				db.pending(t, number)
				db.Exec(t, test.change)

				measured, err := db.lagStore().Measure(t.Context(), fromFront)

				require.Zero(t, measured)
				require.ErrorIs(t, err, outbox.ErrRefused)
				require.ErrorContains(t, err, test.says)
				require.ErrorContains(t, err, test.advises)
			})
		}
	}
}

// A change of the table waits for nobody's measurement, so it may be the one
// that is waited for.
func TestDoesNotWaitLongForATableThatIsBeingChanged(t *testing.T) {
	t.Parallel()

	for _, table := range []string{"outbox", "outbox_failed", "outbox_paused"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()

			db := newLagDatabase(t)
			_, err := db.Conn(t).Exec(t.Context(), "BEGIN; ALTER TABLE "+table+" ADD COLUMN more int", pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)

			measured, err := db.lagStore().Measure(t.Context(), fromFront)

			require.Zero(t, measured)
			require.ErrorContains(t, err, "canceling statement due to lock timeout")
			require.NotErrorIs(t, err, outbox.ErrTooSlow)
		})
	}
}

func TestNoDatabaseIsNoMeasurement(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.login.URL = db.Server.URL(db.Name, db.login.Name, "wrong")

	measured, err := db.lagStore().Measure(t.Context(), fromFront)

	require.Zero(t, measured)
	require.ErrorContains(t, err, "connect to postgres at ")
}

func TestASessionThatIsEndedGivesNoMeasurement(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.Exec(t, "INSERT INTO outbox (event_type, payload) VALUES ('a', '{}')")
	connect := func(ctx context.Context) (*pgx.Conn, error) {
		conn, err := db.connect(ctx)
		require.Equal(t, 1, db.TerminateSessions(t)) //nolint:contextcheck // it has the test's
		return conn, err
	}
	store := db.lagStoreOver(connect)

	measured, err := store.Measure(t.Context(), fromFront)

	require.Error(t, err)
	require.Zero(t, measured)
}

// What it needs is in the other tests, which run as this role.
func TestTheLagsRoleMayDoNoMore(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.pending(t, 1)
	db.requireNoRight(t,
		"SELECT payload FROM outbox",
		"SELECT headers FROM outbox",
		"SELECT * FROM outbox",
		"SELECT id FROM outbox",
		"SELECT last_error FROM outbox",
		"SELECT seq FROM outbox FOR UPDATE",
		"SELECT seq FROM outbox FOR KEY SHARE",
		"INSERT INTO outbox (event_type, payload) VALUES ('a', '{}')",
		"UPDATE outbox SET published_at = now()",
		"UPDATE outbox SET deliver_after = NULL",
		"DELETE FROM outbox",
		"TRUNCATE outbox",
		"SELECT nextval('outbox_seq_seq')",
		"SELECT payload FROM outbox_failed",
		"SELECT error_message FROM outbox_failed",
		"DELETE FROM outbox_failed",
		"SELECT reason FROM outbox_paused",
		"INSERT INTO outbox_paused (topic) VALUES ('*')",
		"DELETE FROM outbox_paused",
		"SELECT seq FROM outbox_redriven",
		"SELECT version FROM outbox_schema",
		"ALTER TABLE outbox ADD COLUMN more int",
		"CREATE TABLE more ()",
		"CREATE SCHEMA more",
		"DROP TABLE outbox",
		"SET ROLE outbox_relay",
		"CREATE ROLE more",
	)
}

func TestAMeasurementIsOneRoundTripWithoutNames(t *testing.T) {
	t.Parallel()

	db := newLagDatabase(t)
	db.pending(t, 3)
	var line *tap
	dial := db.dial(func(conn net.Conn) net.Conn { line = &tap{Conn: conn}; return line })
	store := db.lagStoreOver(func(ctx context.Context) (*pgx.Conn, error) {
		conn, err := dial(ctx)
		line.sent.Reset() // the login is over
		return conn, err
	})

	_, err := store.Measure(t.Context(), fromFront)

	require.NoError(t, err)
	messages := line.take(t)
	const terminate = 'X'
	last := len(messages) - 1
	require.Equal(t, byte(terminate), messages[last].kind)
	requireOneRoundTrip(t, messages[:last], 12) // begin, settings, pending, and with a limit each failed, published, dead, transactions; commit
	for _, message := range messages {
		if message.kind == parseMessage {
			require.Zero(t, message.body[0], "%q", message.body)
		}
	}
}

func TestMeasuresOnAStandbyAndSaysSo(t *testing.T) {
	t.Parallel()

	db := newStandby(t, "outbox_lag")

	measured := db.measure(t)

	require.Zero(t, measured.Unpublished)
	require.Contains(t, measured.Unseen, "this is a standby: ")
	require.Contains(t, measured.Unseen, "use the endpoint of the writer")
	require.NotContains(t, measured.Unseen, "GRANT")
}
