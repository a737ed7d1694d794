package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/pgbouncertest"
	"outboxrelay/internal/postgres"
)

// newOwnedBehind has a migrator that connects through a pooler.
func newOwnedBehind(t *testing.T, options pgbouncertest.Options) *owned {
	t.Helper()
	db := newOwned(t)
	db.owner = behind(t, db.Database, db.owner, options).login
	return db
}

func TestMigratesThroughAPooler(t *testing.T) {
	t.Parallel()

	for name, options := range poolers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			options.PoolSize = max(options.PoolSize, 2)
			db := newOwnedBehind(t, options)
			require.Equal(t, 3, db.migrate(t).To)
			require.Empty(t, db.migrate(t).Applied)
			db.served(t)
		})
	}
}

// A limit would end the building of an index; to lift it for the session would
// lift it for others, and perhaps not for migrate.
func TestLimitsThatAPoolerKeepsFromBeingLiftedAreRefused(t *testing.T) {
	t.Parallel()

	for name, options := range map[string]pgbouncertest.Options{
		"Transaction": {},
		"RoundRobin":  {Settings: map[string]string{"server_round_robin": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newOwned(t)
			db.Exec(t, "ALTER ROLE "+db.owner.Name+" SET statement_timeout = '1h'; ALTER ROLE "+db.owner.Name+" SET lock_timeout = '1h'")
			options.PoolSize = 2
			p := behind(t, db.Database, db.owner, options)
			db.owner = p.login
			first, second := p.plain(t), p.plain(t)
			for _, statement := range []string{"BEGIN", "COMMIT"} { // both connections are there
				for _, conn := range []*pgx.Conn{first, second} {
					_, err := conn.Exec(t.Context(), statement)
					require.NoError(t, err)
				}
			}

			for range 3 {
				require.Contains(t, db.refuse(t, postgres.MigrateConfig{}),
					"lock_timeout, statement_timeout of the user or of the database cannot be lifted for migrate behind a pooler in transaction mode: connect migrate to the database itself")
			}
			for range 6 {
				require.InDelta(t, 3600, currentLimits(t, first).Statement, 0)
			}
		})
	}
}

func TestLimitsAreLiftedThroughAPoolerInSessionMode(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.Exec(t, "ALTER ROLE "+db.owner.Name+" SET statement_timeout = '1h'; ALTER ROLE "+db.owner.Name+" SET default_transaction_read_only = on")
	p := behind(t, db.Database, db.owner, pgbouncertest.Options{Mode: "session", PoolSize: 2})
	db.owner = p.login

	require.Equal(t, 3, db.migrate(t).To)

	require.InDelta(t, 3600, currentLimits(t, p.plain(t)).Statement, 0)
}

func TestAPoolerWithOneConnectionIsTooSmallToMigrate(t *testing.T) {
	t.Parallel()

	for name, options := range map[string]pgbouncertest.Options{
		"Transaction":           {},
		"Session":               {Mode: "session", Settings: map[string]string{"query_wait_timeout": "1"}},
		"TransactionThatEndsIt": {Settings: map[string]string{"query_wait_timeout": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			options.PoolSize = 1
			db := newOwnedBehind(t, options)

			require.Contains(t, db.refuse(t, postgres.MigrateConfig{}), "a migrate needs two connections at a time, and a pooler seems to have but one")
		})
	}
}
