package postgrestest

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// newPair makes a server with a database, and a standby.
func newPair(t *testing.T) (primary, standby *Server, db *Database) {
	t.Helper()
	primary = NewServer(t, Options{})
	db = New(t, On(primary), Schema("create table event (id int)"))
	return primary, NewStandby(t, primary), db
}

func TestAStandbyFollowsAndTakesNoWritesUntilItIsPromoted(t *testing.T) {
	t.Parallel()
	primary, standby, db := newPair(t)
	require.NoError(t, primary.Synchronize(t.Context()))
	db.Exec(t, "set synchronous_commit = remote_apply; insert into event values (1)")
	copied := db.On(standby)
	require.Equal(t, 1, copied.QueryInt(t, "select count(*) from event"))
	_, err := copied.Conn(t).Exec(t.Context(), "insert into event values (2)")
	require.ErrorContains(t, err, "25006")

	require.NoError(t, primary.Halt(Immediate))
	require.NoError(t, standby.Promote(t.Context()))
	copied.Exec(t, "insert into event values (2)")
	_, err = pgx.Connect(t.Context(), db.URL())
	require.Error(t, err)
}

func TestADetachedStandbyMissesWhatComesAfter(t *testing.T) {
	t.Parallel()
	_, standby, db := newPair(t)
	require.NoError(t, standby.Detach(t.Context()))
	db.Exec(t, "insert into event values (1)")
	require.NoError(t, standby.Promote(t.Context()))
	require.Zero(t, db.On(standby).QueryInt(t, "select count(*) from event"))
}
