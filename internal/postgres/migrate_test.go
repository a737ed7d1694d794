package postgres_test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// version1 is what make schema printed when version 1 was the newest.
//
//go:embed testdata/version1.sql
var version1 string

// version2 is the same for version 2.
//
//go:embed testdata/version2.sql
var version2 string

// owned is a database that a user owns who is no superuser, as in a managed
// service. Migrators connect as that user.
type owned struct {
	*database
	owner postgrestest.Login
	log   *bytes.Buffer
}

func newOwned(t *testing.T) *owned {
	t.Helper()
	newDatabase(t) // the roles are there: this user may not make them
	db := postgrestest.New(t)
	owner := db.CreateLogin(t)
	db.Exec(t, "ALTER DATABASE "+db.Name+" OWNER TO "+owner.Name)
	t.Cleanup(func() { db.Exec(t, "ALTER DATABASE "+db.Name+" OWNER TO postgres") })
	return &owned{&database{db, db.CreateLogin(t, "outbox_relay")}, owner, &bytes.Buffer{}}
}

// exec runs a script as the owner.
func (o *owned) exec(t *testing.T, script string) {
	t.Helper()
	conn := postgrestest.Connect(t, o.owner.URL)
	_, err := conn.Exec(t.Context(), script, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

func (o *owned) connect(ctx context.Context) (*pgx.Conn, error) {
	connector, err := postgres.NewConnector(postgres.Settings{URL: o.owner.URL}, nil)
	if err != nil {
		return nil, err
	}
	return connector.Connect(ctx)
}

func (o *owned) run(ctx context.Context, config postgres.MigrateConfig) (postgres.Migrated, error) {
	if config.Table == (postgres.Table{}) {
		config.Table = publicOutbox
	}
	return postgres.NewMigrator(o.connect, config, slog.New(slog.NewTextHandler(o.log, nil))).Run(ctx)
}

func (o *owned) migrate(t *testing.T) postgres.Migrated {
	t.Helper()
	done, err := o.run(t.Context(), postgres.MigrateConfig{})
	require.NoError(t, err)
	return done
}

// refuse requires that a migrator refuses, and changes nothing.
func (o *owned) refuse(t *testing.T, config postgres.MigrateConfig) string {
	t.Helper()
	before := o.catalogue(t)
	done, err := o.run(t.Context(), config)
	require.Error(t, err)
	require.Equal(t, postgres.Migrated{From: done.From, To: done.From}, done)
	requireSame(t, before, o.catalogue(t))
	return err.Error()
}

// catalogue is all that migrations make in the schema public: columns, indexes
// (without the names that version 1 gave), options and grants.
func (o *owned) catalogue(t *testing.T) string {
	t.Helper()
	return o.text(t, `
		SELECT coalesce(string_agg(line, E'\n' ORDER BY line), '') FROM (
			SELECT format('%s.%s %s %s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
				a.attidentity, pg_get_expr(d.adbin, d.adrelid), (SELECT array_agg(replace(acl::text, $1, 'owner') ORDER BY acl::text) FROM unnest(a.attacl) AS acl)) AS line
			FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
			LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
			WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v')
			UNION ALL
			SELECT format('%s %s', pg_get_indexdef(x.indexrelid), x.indisvalid)
			FROM pg_index AS x JOIN pg_class AS c ON c.oid = x.indrelid WHERE c.relnamespace = 'public'::regnamespace
			UNION ALL
			SELECT format('%s %s %s %s', c.relname, c.relkind, c.reloptions, (SELECT array_agg(replace(acl::text, $1, 'owner') ORDER BY acl::text) FROM unnest(coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))) AS acl))
			FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace
		) AS q`, o.owner.Name)
}

// requireSame shows only what differs.
func requireSame(t *testing.T, one, other string) {
	t.Helper()
	first, second := strings.Split(one, "\n"), strings.Split(other, "\n")
	require.Empty(t, slices.DeleteFunc(slices.Clone(first), func(line string) bool { return slices.Contains(second, line) }))
	require.Empty(t, slices.DeleteFunc(slices.Clone(second), func(line string) bool { return slices.Contains(first, line) }))
}

// served requires that the tables serve the relay.
func (o *owned) served(t *testing.T) {
	t.Helper()
	o.Exec(t, "INSERT INTO outbox (event_type, payload) SELECT 'a', '{}' FROM generate_series(1, 4)")
	live(t, o.database, publicOutbox)
}

func TestMigratesFromNothing(t *testing.T) {
	t.Parallel()

	db := newOwned(t)

	require.Equal(t, postgres.Migrated{
		To: 3, Applied: []string{"0001_tables", "0002_redriven", "0003_turn", "index outbox_pending", "index outbox_published", "index outbox_failed_at", "index outbox_redriven_at"},
	}, db.migrate(t))

	db.served(t)
}

// The script, the migrations and the upgrade lead to the same tables.
func TestMigratesFromEveryVersionToTheSameTables(t *testing.T) {
	t.Parallel()

	scripted, migrated, upgraded, later := newOwned(t), newOwned(t), newOwned(t), newOwned(t)
	scripted.exec(t, postgres.Schema(publicOutbox))
	migrated.migrate(t)
	upgraded.exec(t, version1)
	upgraded.exec(t, "INSERT INTO outbox (event_type, payload, published_at) SELECT 'a', '{}', CASE WHEN n < 50 THEN now() END FROM generate_series(1, 99) AS n")

	require.Equal(t, postgres.Migrated{
		From: 1, To: 3, Applied: []string{"0002_redriven", "0003_turn", "index outbox_published", "index outbox_failed_at", "index outbox_redriven_at"},
	}, upgraded.migrate(t))

	later.exec(t, version2)
	require.Equal(t, postgres.Migrated{From: 2, To: 3, Applied: []string{"0003_turn"}}, later.migrate(t))

	requireSame(t, scripted.catalogue(t), migrated.catalogue(t))
	requireSame(t, scripted.catalogue(t), upgraded.catalogue(t))
	requireSame(t, scripted.catalogue(t), later.catalogue(t))
	require.Equal(t, 99, upgraded.QueryInt(t, "SELECT count(*) FROM outbox"))
	migrated.served(t)
}

func TestMigratingAgainChangesNothing(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.migrate(t)
	db.exec(t, "REVOKE SELECT ON outbox FROM outbox_admin") // by who knows better
	before := db.catalogue(t)

	require.Equal(t, postgres.Migrated{From: 3, To: 3}, db.migrate(t))

	requireSame(t, before, db.catalogue(t))
}

// What an application was granted beside the grants of ours stays.
func TestAnUpgradeLeavesTheApplicationsGrants(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.exec(t, version1+"GRANT SELECT (id) ON outbox TO outbox_writer")

	db.migrate(t)

	require.Equal(t, "true", db.text(t, "SELECT has_column_privilege('outbox_writer', 'outbox', 'id', 'SELECT')"))
	require.Equal(t, "false", db.text(t, "SELECT has_column_privilege('outbox_lag', 'outbox', 'payload', 'SELECT')"))
}

// Grants belong to the table, roles to the server: that there are roles does not
// mean that there are grants.
func TestMakesGrantsOnceThereAreRoles(t *testing.T) {
	t.Parallel()

	server := postgrestest.NewServer(t, postgrestest.Options{})
	db := postgrestest.New(t, postgrestest.On(server))
	owner := db.CreateLogin(t)
	db.Exec(t, "ALTER DATABASE "+db.Name+" OWNER TO "+owner.Name)
	t.Cleanup(func() { db.Exec(t, "ALTER DATABASE "+db.Name+" OWNER TO postgres") })
	o := &owned{&database{Database: db}, owner, &bytes.Buffer{}}

	for range 2 {
		o.migrate(t)
		require.Contains(t, o.log.String(), "roles and grants were not made")
		o.log.Reset()
	}

	db.Exec(t, "CREATE ROLE outbox_writer; CREATE ROLE outbox_relay; CREATE ROLE outbox_cleanup; CREATE ROLE outbox_lag; CREATE ROLE outbox_admin")
	require.Equal(t, []string{"grants"}, o.migrate(t).Applied)
	require.Equal(t, postgres.Migrated{From: 3, To: 3}, o.migrate(t))
	o.login = db.CreateLogin(t, "outbox_relay")
	o.served(t)
}

func TestTheRolesReadOnlyDefaultDoesNotMatter(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.Exec(t, "ALTER ROLE "+db.owner.Name+" SET default_transaction_read_only = on; ALTER ROLE "+db.owner.Name+" SET default_transaction_isolation = 'serializable'")
	db.Exec(t, "ALTER ROLE "+db.owner.Name+" SET quote_all_identifiers = on; ALTER ROLE "+db.owner.Name+" SET standard_conforming_strings = off")

	db.migrate(t)

	db.served(t)
	require.Equal(t, postgres.Migrated{From: 3, To: 3}, db.migrate(t))
}

func TestRefusesTablesOfANewerVersion(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.migrate(t)
	db.exec(t, "DROP INDEX outbox_published")
	for _, serves := range []string{"null", "4"} {
		db.exec(t, "INSERT INTO outbox_schema (version, serves) VALUES (4, "+serves+") ON CONFLICT (version) DO UPDATE SET serves = excluded.serves")
		require.Contains(t, db.refuse(t, postgres.MigrateConfig{}),
			`the tables of "public"."outbox" have version 4, this program knows versions up to 3: they were migrated by a newer release`)
	}
}

// A deployment that fails after it has migrated is rolled back, which runs the
// older migrate again.
func TestLeavesTablesOfANewerVersionThatServesItToo(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	partitions := postgres.MigrateConfig{Interval: "day", Ahead: 1}
	_, err := db.run(t.Context(), partitions)
	require.NoError(t, err)
	db.exec(t, "INSERT INTO outbox_schema (version, serves) VALUES (4, 4), (5, 3); DROP INDEX outbox_published")
	before := db.catalogue(t)

	require.Equal(t, postgres.Migrated{From: 5, To: 5}, db.migrate(t))
	requireSame(t, before, db.catalogue(t))

	partitions.Ahead = 3
	done, err := db.run(t.Context(), partitions)
	require.NoError(t, err)
	require.Len(t, done.Created, 2, "partitions are looked after")
}

func TestRefusesCompanionsWithoutTheirOutbox(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.migrate(t)
	db.exec(t, "DROP TABLE outbox")

	require.Contains(t, db.refuse(t, postgres.MigrateConfig{}), `"public"."outbox_schema" says version 3, but "public"."outbox" is gone`)
}

func TestManyMigratorsAtOnceDoEachStepOnce(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.exec(t, version1)
	done := make(chan postgres.Migrated, 4)
	one := func() {
		migrated, err := postgres.NewMigrator(db.connect, postgres.MigrateConfig{Table: publicOutbox}, slog.New(slog.DiscardHandler)).Run(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- migrated
	}
	together(one, one, one, one)

	close(done)
	applied := 0
	for migrated := range done {
		require.Equal(t, 3, migrated.To)
		applied += len(migrated.Applied)
	}
	require.Equal(t, 5, applied)
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM pg_index WHERE NOT indisvalid"))
}

// Outboxes of a stack are migrated at once, by the same user, in one database or two,
// and none finds any roles, which belong to the whole server.
func TestOutboxesMayBeMigratedAtOnceWhereThereAreNoRoles(t *testing.T) {
	t.Parallel()

	const roles = "outbox_writer, outbox_relay, outbox_cleanup, outbox_lag, outbox_admin"
	server := postgrestest.NewServer(t, postgrestest.Options{})
	for range 20 {
		one, other := postgrestest.New(t, postgrestest.On(server)), postgrestest.New(t, postgrestest.On(server))
		together(migration(t, one, "outbox"), migration(t, one, "billing"), migration(t, other, "outbox"))

		require.Equal(t, 5, one.QueryInt(t, "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'outbox\\_%'"))
		for table, db := range map[string]*postgrestest.Database{"outbox": one, "billing": one, "public.outbox": other} {
			require.Equal(t, 1, db.QueryInt(t, "SELECT has_table_privilege('outbox_relay', '"+table+"_failed', 'INSERT')::int"), table)
			require.Equal(t, 3, db.QueryInt(t, "SELECT max(version) FROM "+table+"_schema"), table)
			require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM pg_index WHERE NOT indisvalid"), table)
		}
		one.Exec(t, "DROP OWNED BY "+roles)
		other.Exec(t, "DROP OWNED BY "+roles+"; DROP ROLE "+roles)
	}
}

// migration migrates the outbox of a name.
func migration(t *testing.T, db *postgrestest.Database, table string) func() {
	t.Helper()
	connector, err := postgres.NewConnector(postgres.Settings{URL: db.URL()}, nil)
	require.NoError(t, err)
	config := postgres.MigrateConfig{Table: postgres.Table{Schema: "public", Name: table}}
	return func() {
		if _, err := postgres.NewMigrator(connector.Connect, config, slog.New(slog.DiscardHandler)).Run(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// waitForBuild waits until an index is being built.
func (o *owned) waitForBuild(t *testing.T) {
	t.Helper()
	o.wait(t, "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND state = 'active' AND wait_event_type = 'Lock'")
}

func (o *owned) wait(t *testing.T, condition string) {
	t.Helper()
	require.Eventually(t, func() bool { return postgrestest.Scalar[bool](t, o.Database, condition) }, patience, tick)
}

// writer is an application with a transaction that has written to the outbox
// and is still open.
func (o *owned) writer(t *testing.T) *pgx.Conn {
	t.Helper()
	conn := o.Conn(t)
	_, err := conn.Exec(t.Context(), "BEGIN; INSERT INTO outbox (event_type, payload) VALUES ('a', '{}')", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	return conn
}

// The build of an index waits for those who write. Others go on writing.
func TestBuildsIndexesWithoutBlockingWriters(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.exec(t, version1)
	writer := db.writer(t)
	together(func() {
		db.waitForBuild(t)
		db.Exec(t, "SET lock_timeout = '2s'; INSERT INTO outbox (event_type, payload) VALUES ('b', '{}'); UPDATE outbox SET published_at = now(); DELETE FROM outbox")
		_, err := writer.Exec(t.Context(), "COMMIT")
		if err != nil {
			t.Error(err)
		}
	}, func() {
		if _, err := db.run(t.Context(), postgres.MigrateConfig{}); err != nil {
			t.Error(err)
		}
	})

	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM outbox"))
	require.Contains(t, db.catalogue(t), "CREATE INDEX outbox_published ON public.outbox USING btree (published_at, seq) WHERE (published_at IS NOT NULL) t")
}

// A build that breaks off leaves an invalid index behind, which would be
// maintained and never used.
func TestRebuildsWhatABrokenBuildHasLeft(t *testing.T) {
	t.Parallel()

	for name, prepare := range map[string]string{
		"Missing":  "DROP INDEX outbox_pending",
		"Another":  "DROP INDEX outbox_pending; CREATE INDEX outbox_pending ON outbox (seq)",
		"Replaced": "SELECT",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newOwned(t)
			db.exec(t, version1+prepare)
			writer := db.writer(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			together(func() {
				db.waitForBuild(t)
				cancel(errors.New("the time is up"))
			}, func() {
				if _, err := db.run(ctx, postgres.MigrateConfig{}); err == nil {
					t.Error("no error")
				} else {
					require.ErrorContains(t, err, "the time is up")
				}
			})
			db.wait(t, "SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = '"+db.owner.Name+"'")
			require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM pg_index WHERE NOT indisvalid"))
			_, err := writer.Exec(t.Context(), "COMMIT")
			require.NoError(t, err)

			require.NotEmpty(t, db.migrate(t).Applied)

			fresh := newOwned(t)
			fresh.migrate(t)
			requireSame(t, fresh.catalogue(t), db.catalogue(t))
			require.Equal(t, postgres.Migrated{From: 3, To: 3}, db.migrate(t))
		})
	}
}

// An index counts by what it is, not by what it is called or how it is stored.
func TestLeavesAnIndexOfAnotherNameAlone(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.exec(t, postgres.Schema(publicOutbox)+"ALTER INDEX outbox_pending RENAME TO ours; ALTER INDEX outbox_published SET (fillfactor = 70)")

	require.Empty(t, db.migrate(t).Applied)
}

func TestLeavesAnIndexOfAnotherTableAlone(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.exec(t, postgres.Schema(publicOutbox)+"DROP INDEX outbox_pending, outbox_failed_at; CREATE TABLE another (n int); CREATE INDEX outbox_failed_at ON another (n)")

	done, err := db.run(t.Context(), postgres.MigrateConfig{})

	require.ErrorContains(t, err, `build index outbox_failed_at on "public"."outbox_failed": ERROR: relation "outbox_failed_at" already exists`)
	require.Equal(t, []string{"index outbox_pending"}, done.Applied, "one does not wait for the other")
	require.Equal(t, "another", db.text(t, "SELECT indrelid::regclass FROM pg_index WHERE indexrelid = 'outbox_failed_at'::regclass"))
}

// An operator builds it by hand, as an error of ours may have advised.
func TestLeavesABuildAloneThatIsUnderWay(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.exec(t, postgres.Schema(publicOutbox)+"DROP INDEX outbox_published")
	writer, operator := db.writer(t), postgrestest.Connect(t, db.owner.URL)
	together(func() {
		_, err := operator.Exec(t.Context(), "CREATE INDEX CONCURRENTLY outbox_published ON outbox (published_at, seq) WHERE published_at IS NOT NULL")
		if err != nil {
			t.Error(err)
		}
	}, func() {
		db.waitForBuild(t)
		_, err := db.run(t.Context(), postgres.MigrateConfig{})
		if err == nil || !strings.Contains(err.Error(), "somebody is building it") {
			t.Error(err)
		}
		if _, err := writer.Exec(t.Context(), "COMMIT"); err != nil {
			t.Error(err)
		}
	})

	require.Equal(t, postgres.Migrated{From: 3, To: 3}, db.migrate(t))
}

// The lock of a migrator is its connection's.
func TestStopsWhenItsLockIsLost(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.exec(t, version1)
	writer := db.writer(t)
	together(func() {
		db.waitForBuild(t)
		db.Exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1 AND state = 'idle in transaction'", db.owner.Name)
		if _, err := writer.Exec(t.Context(), "COMMIT"); err != nil {
			t.Error(err)
		}
	}, func() {
		_, err := db.run(t.Context(), postgres.MigrateConfig{})
		if err == nil || !strings.Contains(err.Error(), "the lock of this migrate was lost") {
			t.Error(err)
		}
	})

	db.migrate(t)
	fresh := newOwned(t)
	fresh.migrate(t)
	requireSame(t, fresh.catalogue(t), db.catalogue(t))
}

func TestATimeLimitOfTheRoleDoesNotEndABuild(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.Exec(t, "ALTER ROLE "+db.owner.Name+" SET statement_timeout = '50ms'; ALTER ROLE "+db.owner.Name+" SET lock_timeout = '50ms'; ALTER ROLE "+db.owner.Name+" SET idle_in_transaction_session_timeout = '50ms'")
	db.Exec(t, version1+"ALTER TABLE outbox OWNER TO "+db.owner.Name+"; ALTER TABLE outbox_failed OWNER TO "+db.owner.Name+
		"; ALTER TABLE outbox_paused OWNER TO "+db.owner.Name+"; ALTER TABLE outbox_schema OWNER TO "+db.owner.Name)
	writer := db.writer(t)
	together(func() {
		db.waitForBuild(t)
		db.wait(t, "SELECT clock_timestamp() > min(query_start) + interval '300 ms' FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' AND usename = '"+db.owner.Name+"'")
		_, err := writer.Exec(t.Context(), "COMMIT")
		if err != nil {
			t.Error(err)
		}
	}, func() {
		if _, err := db.run(t.Context(), postgres.MigrateConfig{}); err != nil {
			t.Error(err)
		}
	})
}

func TestSaysWhoHasToMigrate(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	stranger := db.CreateLogin(t)
	db.owner = stranger

	_, err := db.run(t.Context(), postgres.MigrateConfig{Table: postgres.Table{Schema: "nowhere", Name: "outbox"}})
	require.ErrorContains(t, err, `create the schema of "nowhere"."outbox", or correct OUTBOX_TABLE`)

	db.Exec(t, version1)
	_, err = db.run(t.Context(), postgres.MigrateConfig{})
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "42501", refused.Code)
	require.ErrorContains(t, err, `migrate has to connect as the owner of "public"."outbox"`)
}

// A view over a table of the application's, as in the test of the store.
func TestMigratesAroundAView(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.exec(t, messages+messagesView)

	require.Equal(t, postgres.Migrated{To: 3, Applied: []string{"0001_tables", "0002_redriven", "0003_turn", "index outbox_failed_at", "index outbox_redriven_at"}}, db.migrate(t))

	live(t, db.database, publicOutbox)
	require.Equal(t, "text", db.text(t, "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'outbox_failed'::regclass AND attname = 'payload'"))
	require.Equal(t, "character varying(50)", db.text(t, "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'outbox_failed'::regclass AND attname = 'event_type'"))
	require.Equal(t, postgres.Migrated{From: 3, To: 3}, db.migrate(t))
}

func TestRefusesAViewThatCannotServe(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		view     string
		problems []string
	}{
		"Columns": {
			`CREATE VIEW outbox AS SELECT "Nr" AS seq, kind AS event_type, tenant AS payload, "at"::timestamp AS created_at, error AS last_error,
				now() AS published_at, "retryAt"::text AS retry_at, tries AS attempts FROM messages`,
			[]string{
				"column id is missing: expected uuid", "column headers is missing: expected jsonb or json or text", "column topic is missing: expected text",
				"column payload is integer: expected jsonb or json or text", "column created_at is timestamp without time zone: expected timestamp with time zone",
				"column retry_at is text: expected timestamp with time zone", "column published_at cannot be written to",
			},
		},
		"Aggregated": {
			`CREATE VIEW outbox AS SELECT "Nr" AS seq, uid AS id FROM messages GROUP BY 1`,
			[]string{"the view takes no UPDATE or DELETE by itself: it has to read one table"},
		},
		"Expressions": {
			strings.NewReplacer(`"Nr" AS seq`, `"Nr" + 0 AS seq`, "uid AS id", "gen_random_uuid() AS id").Replace(messagesView),
			[]string{"column id cannot be written to: a failed event that is moved back would not be the same", "column seq cannot be written to"},
		},
		"Triggers": {
			messagesView + `CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;
				CREATE TRIGGER pass INSTEAD OF UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION pass()`,
			[]string{"it has INSTEAD OF triggers or rules"},
		},
		"Rules": {
			messagesView + "CREATE RULE pass AS ON UPDATE TO outbox DO INSTEAD NOTHING",
			[]string{"it has INSTEAD OF triggers or rules"},
		},
		"Generated": {
			postgres.Schema(publicOutbox) + `DROP TABLE outbox_schema; ALTER TABLE outbox DROP COLUMN published_at;
				ALTER TABLE outbox ADD COLUMN published_at timestamptz GENERATED ALWAYS AS (created_at) STORED`,
			[]string{"column published_at cannot be written to"},
		},
		"Numbers": {
			postgres.Schema(publicOutbox) + "DROP TABLE outbox_schema; ALTER TABLE outbox DROP CONSTRAINT outbox_pkey, ALTER seq DROP IDENTITY, ALTER seq DROP NOT NULL",
			[]string{"no unique index begins with seq", "column seq may be null"},
		},
		"OnlyCompanions": {"CREATE TABLE outbox_failed (id int)", []string{`"public"."outbox_failed" has no column seq`}},
		"Sequence":       {"CREATE SEQUENCE outbox", []string{"it is neither a table nor a view"}},
		"Materialized":   {"CREATE MATERIALIZED VIEW outbox AS SELECT 1 AS seq", []string{"it is neither a table nor a view"}},
		"Companions": {
			messagesView + "CREATE TABLE outbox_failed (seq bigint); CREATE TABLE outbox_paused (topic text)",
			[]string{`"public"."outbox_failed" has no column times_failed`, `"public"."outbox_paused" has no column reason`},
		},
		"NoSequence": {
			version2 + "CREATE TABLE outbox_turn (n int)",
			[]string{`"public"."outbox_turn" has no column last_value`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newOwned(t)
			db.exec(t, messages+test.view)

			problem := db.refuse(t, postgres.MigrateConfig{})

			for _, expected := range test.problems {
				require.Contains(t, problem, expected)
			}
		})
	}
}

// A table with the columns of the contract that somebody has made. That it is
// not ours is remembered.
func TestAdoptsATableWithoutCompanions(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.exec(t, postgres.Schema(publicOutbox)+"DROP TABLE outbox_failed, outbox_paused, outbox_redriven, outbox_schema; DROP SEQUENCE outbox_turn; DROP INDEX outbox_pending, outbox_published")

	require.Contains(t, db.migrate(t).Applied, "index outbox_pending")

	db.served(t)
	require.Equal(t, "true", db.text(t, "SELECT bool_and(adopted) FROM outbox_schema"))
	ours := newOwned(t)
	ours.migrate(t)
	require.Equal(t, "false", ours.text(t, "SELECT bool_or(adopted) FROM outbox_schema"))
}

// Keys and types are what the application has.
func TestTheFailedTableTakesTheTypesOfAnOwnTable(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.exec(t, `CREATE TYPE kind AS ENUM ('a', 'b');
		CREATE TABLE events (number int PRIMARY KEY, id uuid NOT NULL DEFAULT gen_random_uuid(), aggregate_type kind, aggregate_id uuid, event_type kind NOT NULL,
			payload json NOT NULL, tries smallint NOT NULL DEFAULT 0, retry_at timestamptz, last_error varchar(500), published_at timestamptz);
		CREATE VIEW outbox AS SELECT number AS seq, id, aggregate_type, aggregate_id, event_type, payload, NULL::jsonb AS headers, NULL::text AS source,
			NULL::text AS topic, now() AS created_at, NULL::timestamptz AS deliver_after, retry_at, tries AS attempts, last_error, published_at FROM events;
		INSERT INTO events (number, event_type, payload) SELECT n, 'a', '{}' FROM generate_series(1, 4) AS n`)

	db.migrate(t)

	live(t, db.database, publicOutbox)
	require.Equal(t, "integer uuid kind kind smallint", db.text(t, `SELECT string_agg(format_type(atttypid, atttypmod), ' ' ORDER BY array_position('{seq,aggregate_id,aggregate_type,event_type,attempts}', attname::text))
		FROM pg_attribute WHERE attrelid = 'outbox_failed'::regclass AND attname IN ('seq', 'aggregate_id', 'aggregate_type', 'event_type', 'attempts')`))
	requireRedriven(t, db.admin(t), outbox.Selection{EventType: "a", Limit: 9}, 3)
}

func TestMigratesATableOfAnyName(t *testing.T) {
	t.Parallel()

	for _, table := range []postgres.Table{
		{Schema: "Käse🧀", Name: `'it''s' "the" outbox`},
		{Schema: `x"; DROP SCHEMA public CASCADE; --`, Name: `END $$; DROP TABLE canary; DO $$`},
		{Schema: "public.outbox", Name: "INDEX outbox_pending"},
	} {
		for _, interval := range []string{"", "day"} {
			db := newOwned(t)
			db.exec(t, "CREATE SCHEMA "+pgx.Identifier{table.Schema}.Sanitize())
			config := postgres.MigrateConfig{Table: table, Interval: interval, Ahead: 1}

			done, err := db.run(t.Context(), config)
			require.NoError(t, err)
			require.Equal(t, 3, done.To)
			again, err := db.run(t.Context(), config)
			require.NoError(t, err)
			require.Equal(t, postgres.Migrated{From: 3, To: 3}, again)

			db.Exec(t, "INSERT INTO "+table.String()+" (event_type, payload) SELECT 'a', '{}' FROM generate_series(1, 4)")
			live(t, db.database, table)
		}
	}
}

// The history of an event that was moved back is counted on, and not that of
// another one that had its number.
func TestAnEventThatFailsAgainCountsOn(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 2)
	db.Exec(t, `INSERT INTO outbox_redriven (seq, id, attempts, failed_at, error_code, error_message, times_failed)
		SELECT o.seq, CASE seq WHEN 2 THEN id ELSE gen_random_uuid() END, 1, now(), 'a', 'b', n FROM outbox AS o, generate_series(1, 3) AS n`)
	session := db.session(t)
	require.Len(t, claim(t, session, everything).Events, 2)

	settle(t, session, outbox.Settlement{Failed: []outbox.Failure{{Seq: 1, Code: "c", Message: "d"}, {Seq: 2, Code: "c", Message: "d"}}})

	require.Equal(t, "1 4", db.text(t, "SELECT string_agg(times_failed::text, ' ' ORDER BY seq) FROM outbox_failed"))
}
