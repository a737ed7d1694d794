package postgres_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

func TestSaysWhatToDoWhenAClaimIsRefused(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ change, says, advises string }{
		"WithoutTheTable": {
			"DROP TABLE outbox", `relation "public.outbox" does not exist`,
			`bring the tables of "public"."outbox" up to date (invoke migrate, or apply what make schema prints) or correct OUTBOX_TABLE`,
		},
		"WithoutACompanion": {
			"DROP TABLE outbox_paused", `relation "public.outbox_paused" does not exist`,
			`bring the tables of "public"."outbox" up to date (invoke migrate, or apply what make schema prints) or correct OUTBOX_TABLE`,
		},
		"WithoutAColumn": {
			"ALTER TABLE outbox DROP COLUMN retry_at", `column "retry_at" does not exist`,
			`"public"."outbox" lacks a column of the contract: compare it with what make schema prints`,
		},
		"WithoutTheRightToRead": {
			"REVOKE SELECT ON outbox FROM outbox_relay", "permission denied for table outbox",
			"give the user the role outbox_relay, which make schema prints with its grants",
		},
		"WithoutTheRightToLock": {
			"REVOKE UPDATE (retry_at, attempts, last_error, published_at) ON outbox FROM outbox_relay", "permission denied for table outbox",
			"give the user the role outbox_relay",
		},
		"WithTimesWithoutZone": {
			"ALTER TABLE outbox ALTER COLUMN created_at TYPE timestamp",
			"column created_at must be of type timestamptz", "so that a time means the same to everyone",
		},
		"WithTextForTimes": {
			"ALTER TABLE outbox ALTER COLUMN created_at DROP DEFAULT, ALTER COLUMN created_at TYPE text",
			"column created_at must be of type timestamptz", "so that a time means the same to everyone",
		},
	} {
		for rows, number := range map[string]int{"OnAnEmptyTable": 0, "WithRows": 2} {
			t.Run(name+rows, func(t *testing.T) {
				t.Parallel()

				db := newDatabase(t)
				db.pending(t, number)
				db.Exec(t, test.change)
				db.Exec(t, "ALTER ROLE "+db.login.Name+" SET timezone = 'Asia/Tokyo'")

				_, err := db.session(t).Claim(t.Context(), everything)

				require.ErrorIs(t, err, outbox.ErrRefused)
				require.ErrorContains(t, err, "claim batch: ")
				require.ErrorContains(t, err, test.says)
				require.ErrorContains(t, err, test.advises)
			})
		}
	}
}

func TestALoginOutsideTheRoleIsToldToJoinIt(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.login = db.CreateLogin(t)

	_, err := db.session(t).Claim(t.Context(), everything)

	require.ErrorIs(t, err, outbox.ErrRefused)
	require.ErrorContains(t, err, "give the user the role outbox_relay")
}

// What the relay needs is in the tests of the claim and of settling, which
// run as this role. This is what it has no right to.
func TestTheRelaysRoleMayDoNoMore(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 1)
	db.requireNoRight(t,
		"INSERT INTO outbox (event_type, payload) VALUES ('a', '{}')",
		"UPDATE outbox SET payload = '{}'",
		"UPDATE outbox SET event_type = 'b'",
		"UPDATE outbox SET id = gen_random_uuid()",
		"UPDATE outbox SET created_at = now()",
		"UPDATE outbox SET deliver_after = NULL",
		"UPDATE outbox SET topic = NULL",
		"TRUNCATE outbox",
		"SELECT nextval('outbox_seq_seq')",
		"SELECT setval('outbox_turn', 1)",
		"ALTER SEQUENCE outbox_turn RESTART",
		"SELECT payload FROM outbox_failed",
		"SELECT error_message FROM outbox_redriven",
		"UPDATE outbox_failed SET error_code = ''",
		"DELETE FROM outbox_failed",
		"INSERT INTO outbox_paused (topic) VALUES ('*')",
		"DELETE FROM outbox_paused",
		"INSERT INTO outbox_schema (version) VALUES (2)",
		"ALTER TABLE outbox ADD COLUMN more int",
		"CREATE INDEX ON outbox (topic)",
		"CREATE TABLE more ()",
		"CREATE SCHEMA more",
		"DROP TABLE outbox",
		"GRANT outbox_admin TO "+db.login.Name,
		"CREATE ROLE more",
		"SET ROLE outbox_writer",
	)
}

// requireNoRight says that the login may execute none of the statements.
func (d *database) requireNoRight(t *testing.T, statements ...string) {
	t.Helper()
	d.Exec(t, "REVOKE CREATE ON SCHEMA public FROM PUBLIC") // PostgreSQL 14 lets everyone
	conn := postgrestest.Connect(t, d.login.URL)
	for _, statement := range statements {
		_, err := conn.Exec(t.Context(), statement)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, statement)
		require.Equal(t, "42501", refused.Code, "%s: %s", statement, refused.Message)
	}
}

// A zone that the role brings along changes no time.
func TestTheRolesTimeZoneChangesNoAge(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	for _, zone := range []string{"Asia/Tokyo", "America/New_York"} {
		db.Exec(t, "DELETE FROM outbox")
		db.Exec(t, "ALTER ROLE "+db.login.Name+" SET timezone = '"+zone+"'")
		writer := db.CreateLogin(t, "outbox_writer")
		db.Exec(t, "ALTER ROLE "+writer.Name+" SET timezone = '"+zone+"'")
		before := db.clock(t)
		_, err := postgrestest.Connect(t, writer.URL).Exec(t.Context(), "INSERT INTO outbox (event_type, payload) VALUES ('a', '{}')")
		require.NoError(t, err)
		session := db.session(t)

		batch := claim(t, session, everything)

		require.Len(t, batch.Events, 1)
		require.LessOrEqual(t, batch.Events[0].Age, db.clock(t).Sub(before))
		require.Positive(t, batch.Events[0].Age)
		require.False(t, batch.Events[0].CreatedAt.Before(before))
		settle(t, session, outbox.Settlement{})
	}
}

// A standby, as the reader's endpoint of a cluster is one, or a writer after a
// failover. It may be a writer again when one connects anew.
func TestAReadOnlyServerIsNamed(t *testing.T) {
	t.Parallel()

	db := newStandby(t, "outbox_relay")

	_, err := db.session(t).Claim(t.Context(), everything)

	require.ErrorContains(t, err, "the connection leads to a read-only server: use the endpoint of the writer")
	require.NotErrorIs(t, err, outbox.ErrRefused)
}

// newStandby is an empty outbox on a server that takes no writes.
func newStandby(t *testing.T, role string) *database {
	t.Helper()
	server := postgrestest.NewServer(t, postgrestest.Options{})
	made, err := server.CreateDatabase(t.Context(), postgres.Schema(publicOutbox))
	require.NoError(t, err)
	login, err := made.AddLogin(t.Context(), role)
	require.NoError(t, err)
	require.NoError(t, server.Halt(postgrestest.Fast))
	require.NoError(t, os.WriteFile(filepath.Join(server.SocketDirectory(), "data", "standby.signal"), nil, 0o600))
	require.NoError(t, server.Resume(t.Context()))
	return &database{made, login} // dropped with the server: a standby drops nothing
}

func TestNoConnectionIsAnErrorOfConnecting(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.login.URL = db.Server.URL(db.Name, db.login.Name, "wrong")

	_, err := postgres.NewStore(db.connect, postgres.StoreConfig{Table: publicOutbox, Bus: "events"}).Connect(t.Context())

	require.ErrorContains(t, err, "connect to postgres at ")
	require.NotContains(t, err.Error(), "wrong;")
}
