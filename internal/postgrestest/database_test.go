package postgrestest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

const schema = `
do $$ begin
	if not exists (select from pg_roles where rolname = 'reader') then create role reader login; end if;
end $$;
create table event (id int primary key);
grant select on event to reader;
insert into event values (1);`

func TestEachTestGetsItsOwnDatabase(t *testing.T) {
	t.Parallel()
	one, other := New(t, Schema(schema)), New(t, Schema(schema))
	require.NotEqual(t, one.Name, other.Name)
	one.Exec(t, "insert into event values (2); insert into event values (3)")
	require.Equal(t, 3, one.QueryInt(t, "select count(*) from event"))
	require.Equal(t, 1, other.QueryInt(t, "select count(*) from event"))
}

func TestADatabaseIsEmptyWithoutASchema(t *testing.T) {
	t.Parallel()
	db := New(t)
	require.Zero(t, db.QueryInt(t, "select count(*) from pg_tables where schemaname = 'public'"))
	require.Equal(t, "UTF8", Scalar[string](t, db, "show server_encoding"))
	require.Nil(t, Scalar[*int](t, db, "select null::int"))
}

func TestManyDatabasesComeFromOneTemplateAtOnce(t *testing.T) {
	t.Parallel()
	server, err := Shared()
	require.NoError(t, err)
	script := schema + "create table of_this_test ()"
	var group errgroup.Group
	for range 8 {
		group.Go(func() error {
			db, err := server.CreateDatabase(t.Context(), script)
			if err != nil {
				return err
			}
			return db.Drop(t.Context())
		})
	}
	require.NoError(t, group.Wait())
}

func TestTheDatabaseIsDroppedWithTheTestWhoeverIsConnected(t *testing.T) { //nolint:tparallel // looks at what the inner test left
	t.Parallel()
	var name string
	t.Run("test", func(t *testing.T) {
		db := New(t)
		name = db.Name
		forgotten, err := pgx.Connect(t.Context(), db.URL())
		require.NoError(t, err)
		_, err = forgotten.Exec(t.Context(), "begin; create table held ()")
		require.NoError(t, err)
	})
	require.Zero(t, New(t).QueryInt(t, "select count(*) from pg_database where datname = $1", name))
}

func TestABrokenSchemaIsReportedEachTime(t *testing.T) {
	t.Parallel()
	server, err := Shared()
	require.NoError(t, err)
	for range 2 {
		_, err := server.CreateDatabase(t.Context(), "create tabel event ()")
		require.ErrorContains(t, err, `run schema script: ERROR: syntax error at or near "tabel"`)
	}
}

func TestURLAsConnectsAsThatRoleWithoutAPassword(t *testing.T) {
	t.Parallel()
	db := New(t, Schema(schema))
	conn := Connect(t, db.URLAs("reader"))
	var user string
	require.NoError(t, conn.QueryRow(t.Context(), "select current_user from event").Scan(&user))
	require.Equal(t, "reader", user)
	_, err := conn.Exec(t.Context(), "insert into event values (2)")
	require.ErrorContains(t, err, "SQLSTATE 42501")
}

func TestALoginHasToKnowItsPassword(t *testing.T) {
	t.Parallel()
	db := New(t, Schema(schema))
	login := db.CreateLogin(t, "reader")
	var events int
	require.NoError(t, Connect(t, login.URL).QueryRow(t.Context(), "select count(*) from event").Scan(&events))
	require.Equal(t, 1, events)

	_, err := pgx.Connect(t.Context(), db.Server.URL(db.Name, login.Name, "guess"))
	require.ErrorContains(t, err, "SQLSTATE 28P01")
}

func TestALoginIsDroppedWithTheTestWhateverItOwns(t *testing.T) { //nolint:tparallel // looks at what the inner test left
	t.Parallel()
	db := New(t, Schema("grant create on schema public to public"))
	var name string
	t.Run("test", func(t *testing.T) {
		login := db.CreateLogin(t)
		name = login.Name
		forgotten, err := pgx.Connect(t.Context(), login.URL)
		require.NoError(t, err)
		_, err = forgotten.Exec(t.Context(), "create table owned (); begin; lock table owned")
		require.NoError(t, err)
	})
	require.Zero(t, db.QueryInt(t, "select count(*) from pg_roles where rolname = $1", name))
}

func TestTerminateSessionsEndsAllOfThisDatabase(t *testing.T) {
	t.Parallel()
	db, other := New(t), New(t)
	ended, spared := db.Conn(t), other.Conn(t)
	Connect(t, db.URL())
	require.Equal(t, 2, db.TerminateSessions(t))
	require.Error(t, ended.Ping(t.Context()))
	require.NoError(t, spared.Ping(t.Context()))
}

func TestExecAfterTerminateSessionsWorks(t *testing.T) {
	t.Parallel()
	db := New(t)
	db.TerminateSessions(t)
	db.Exec(t, "create table event ()")
}

func BenchmarkNew(b *testing.B) {
	server, err := Shared()
	require.NoError(b, err)
	for b.Loop() {
		db, err := server.CreateDatabase(b.Context(), schema)
		require.NoError(b, err)
		require.NoError(b, db.Drop(context.Background()))
	}
}
