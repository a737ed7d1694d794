package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// daily keeps events for a week.
var daily = postgres.MigrateConfig{Interval: "day", Ahead: 3, Retention: 7 * 24 * time.Hour}

func (o *owned) partition(t *testing.T, config postgres.MigrateConfig) postgres.Migrated {
	t.Helper()
	done, err := o.run(t.Context(), config)
	require.NoError(t, err)
	return done
}

// names gives the names of partitions that begin so many days from today.
func (o *owned) names(t *testing.T, days ...int) []string {
	t.Helper()
	names := []string{}
	for _, day := range days {
		names = append(names, o.text(t, "SELECT to_char(now() AT TIME ZONE 'UTC' + $1::int * interval '1 day', '\"outbox_p\"YYYYMMDD')", day))
	}
	return names
}

// past makes the partition of a day in the past.
func (o *owned) past(t *testing.T, day int) string {
	t.Helper()
	name := o.names(t, day)[0]
	from := o.text(t, "SELECT date_trunc('day', now() AT TIME ZONE 'UTC') + $1::int * interval '1 day'", day)
	to := o.text(t, "SELECT date_trunc('day', now() AT TIME ZONE 'UTC') + ($1::int + 1) * interval '1 day'", day)
	o.exec(t, "CREATE TABLE "+name+" PARTITION OF outbox FOR VALUES FROM ('"+from+"Z') TO ('"+to+"Z')")
	return name
}

// event inserts one that was created and published so many hours ago, in SQL.
func (o *owned) event(t *testing.T, created, published string) {
	t.Helper()
	o.Exec(t, "INSERT INTO outbox (event_type, payload, created_at, published_at) VALUES ('a', '{}', now() - interval '"+created+"', now() - "+published+"::interval)")
}

func TestKeepsPartitionsAhead(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.Exec(t, "ALTER ROLE "+db.owner.Name+" SET DateStyle = 'SQL, DMY'; ALTER ROLE "+db.owner.Name+" SET TimeZone = 'Asia/Kolkata'")

	require.Equal(t, append([]string{"outbox_default"}, db.names(t, 0, 1, 2, 3)...), db.partition(t, daily).Created)

	require.Equal(t, postgres.Migrated{From: 3, To: 3}, db.partition(t, daily))
	db.served(t)
	require.Equal(t, db.names(t, 0)[0], db.text(t, "SELECT string_agg(DISTINCT tableoid::regclass::text, ' ') FROM outbox"))
	require.Equal(t, "{0}", db.text(t, "SELECT array_agg(DISTINCT (SELECT count(*) FROM unnest(reloptions) AS o WHERE o = 'autovacuum_vacuum_threshold=10000') - 1) FROM pg_class WHERE relispartition AND relkind = 'r'"))
	require.Equal(t, 3, db.QueryInt(t, "SELECT count(*) FROM pg_index WHERE indrelid = $1::regclass AND indisvalid", db.names(t, 2)[0]))
	more := daily
	more.Ahead = 5
	db.writer(t) // has written to today's partition, and is not waited for
	require.Equal(t, db.names(t, 4, 5), db.partition(t, more).Created)
}

// What somebody has added to the outbox, its partitions have too.
func TestPartitionsAreLikeTheOutbox(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.partition(t, daily)
	db.exec(t, "ALTER TABLE outbox ADD CONSTRAINT small CHECK (length(event_type) < 100), ADD COLUMN kind text GENERATED ALWAYS AS (lower(event_type)) STORED")
	more := daily
	more.Ahead = 5

	require.Equal(t, db.names(t, 4, 5), db.partition(t, more).Created)
}

// Relays hold locks on all partitions while they publish. Between two batches
// there is room.
func TestMakesPartitionsBetweenTheBatchesOfARelay(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.partition(t, daily)
	db.Exec(t, "INSERT INTO outbox (event_type, payload) VALUES ('a', '{}')")
	session := db.session(t)
	require.Len(t, claim(t, session, everything).Events, 1)
	more := daily
	more.Ahead = 4
	together(func() {
		db.waitForLock(t)
		db.Exec(t, "SET lock_timeout = '2s'; INSERT INTO outbox (event_type, payload) VALUES ('b', '{}')")
		settle(t, session, outbox.Settlement{})
	}, func() {
		if done, err := db.run(t.Context(), more); err != nil || len(done.Created) != 1 {
			t.Error(done, err)
		}
	})
}

// An application's own partitions get what is missing.
func TestKeepsPartitionsOfATableThatHasSome(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.partition(t, daily)
	db.exec(t, "DROP TABLE outbox_default, "+strings.Join(db.names(t, 1, 2, 3), ", "))
	db.exec(t, "CREATE TABLE theirs PARTITION OF outbox FOR VALUES FROM ('"+
		db.text(t, "SELECT date_trunc('day', now() AT TIME ZONE 'UTC') + interval '36 hours'")+"Z') TO ('infinity')")

	require.Equal(t, append([]string{"outbox_default"}, db.names(t, 1)...), db.partition(t, daily).Created)

	require.Equal(t, postgres.Migrated{From: 3, To: 3}, db.partition(t, daily))
}

// An insert never fails for want of a partition.
func TestTakesEventsOfAnyTime(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.partition(t, daily)
	writer := postgrestest.Connect(t, db.CreateLogin(t, "outbox_writer").URL)

	for _, at := range []string{"-infinity", "1999-12-31", "2999-12-31", "infinity"} {
		_, err := writer.Exec(t.Context(), "INSERT INTO outbox (event_type, payload, created_at) VALUES ('a', '{}', $1::timestamptz)", at)
		require.NoError(t, err)
	}

	require.Equal(t, 4, db.QueryInt(t, "SELECT count(*) FROM outbox_default"))
}

func TestLeavesATimeToTheDefaultPartitionThatHasEventsOfIt(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.partition(t, daily)
	db.Exec(t, "INSERT INTO outbox (event_type, payload, created_at) VALUES ('a', '{}', date_trunc('day', now()) + interval '100 hours')")
	more := daily
	more.Ahead = 5

	require.Equal(t, db.names(t, 5), db.partition(t, more).Created)
	require.Contains(t, db.log.String(), "a partition was not made")

	db.Exec(t, "DELETE FROM outbox")
	require.Equal(t, db.names(t, 4), db.partition(t, more).Created)
}

func TestDropsPartitionsThatNobodyNeeds(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.partition(t, daily)
	over, pending, young, empty := db.past(t, -10), db.past(t, -11), db.past(t, -12), db.past(t, -13)
	recent := db.past(t, -6)
	db.event(t, "240 hours", "'230 hours'")
	db.event(t, "264 hours", "'263 hours'")
	db.event(t, "264 hours", "NULL")
	db.event(t, "288 hours", "'1 hour'") // redriven, for example
	db.event(t, "144 hours", "'144 hours'")

	require.Equal(t, postgres.Migrated{From: 3, To: 3, Dropped: []string{empty, over}}, db.partition(t, daily))

	require.Equal(t, 4, db.QueryInt(t, "SELECT count(*) FROM outbox"))
	for _, kept := range []string{pending, young, recent} {
		require.NotEmpty(t, db.text(t, "SELECT $1::regclass", kept))
	}
}

// An event that becomes pending between the first look and the lock keeps its
// partition.
func TestDropsNoPartitionThatAnEventHasReached(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.Exec(t, "ALTER ROLE "+db.owner.Name+" SET default_transaction_isolation = 'repeatable read'") // would see what was there before its lock
	db.partition(t, daily)
	over := db.past(t, -10)
	db.event(t, "240 hours", "'230 hours'")
	writer := db.Conn(t)
	_, err := writer.Exec(t.Context(), "BEGIN; INSERT INTO outbox (event_type, payload, created_at) VALUES ('late', '{}', now() - interval '240 hours')", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	together(func() {
		db.waitForLock(t)
		if _, err := writer.Exec(t.Context(), "COMMIT"); err != nil {
			t.Error(err)
		}
	}, func() {
		if done, err := db.run(t.Context(), daily); err != nil || len(done.Dropped) > 0 {
			t.Error(done, err)
		}
	})

	require.Equal(t, 1, db.QueryInt(t, "SELECT count(*) FROM "+over+" WHERE event_type = 'late'"))
}

// waitForLock waits until a partition is about to be dropped.
func (o *owned) waitForLock(t *testing.T) {
	t.Helper()
	o.wait(t, "SELECT count(*) > 0 FROM pg_stat_activity WHERE usename = '"+o.owner.Name+"' AND wait_event_type = 'Lock'")
}

// A transaction that has written and stays open holds up the drop, and the drop
// holds up no other writer for longer than it waits itself.
func TestDropsPartitionsWithoutBlockingWriters(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.partition(t, daily)
	over := db.past(t, -10)
	writer := db.writer(t)
	together(func() {
		for range 3 {
			db.waitForLock(t)
			db.Exec(t, "SET lock_timeout = '2s'; INSERT INTO outbox (event_type, payload) VALUES ('b', '{}')")
		}
		if _, err := writer.Exec(t.Context(), "COMMIT"); err != nil {
			t.Error(err)
		}
	}, func() {
		done, err := db.run(t.Context(), daily)
		if err != nil || len(done.Dropped) != 1 || done.Dropped[0] != over {
			t.Error(done, err)
		}
	})

	require.Equal(t, 4, db.QueryInt(t, "SELECT count(*) FROM outbox"))
}

func TestRefusesPartitionsOfATableThatHasNone(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ script, expected string }{
		"Plain":         {postgres.Schema(publicOutbox), `PARTITION_INTERVAL is set, but "public"."outbox" is a table without partitions`},
		"View":          {messages + messagesView, `PARTITION_INTERVAL is set, but "public"."outbox" is a view`},
		"ByAnotherTime": {"CREATE TABLE outbox (published_at timestamptz) PARTITION BY RANGE (published_at)", `is a table partitioned by RANGE (published_at): expected a table partitioned by RANGE (created_at)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newOwned(t)
			db.exec(t, test.script)

			require.Contains(t, db.refuse(t, daily), test.expected)
		})
	}
}

// Partitions that were made by hand, without an index: it is built for each, and
// joined.
func TestBuildsTheIndexesOfAPartitionedTable(t *testing.T) {
	t.Parallel()

	db := newOwned(t)
	db.partition(t, daily)
	db.exec(t, "DROP INDEX outbox_pending, outbox_published")
	db.exec(t, "CREATE INDEX outbox_pending ON ONLY outbox (published_at, seq) WHERE published_at IS NULL") // a run broke off here
	db.exec(t, "CREATE INDEX CONCURRENTLY theirs ON outbox_default (published_at, seq) WHERE published_at IS NULL")
	writer := db.writer(t)
	together(func() {
		db.waitForBuild(t)
		db.Exec(t, "SET lock_timeout = '2s'; INSERT INTO outbox (event_type, payload) VALUES ('b', '{}')")
		if _, err := writer.Exec(t.Context(), "COMMIT"); err != nil {
			t.Error(err)
		}
	}, func() {
		if done, err := db.run(t.Context(), postgres.MigrateConfig{}); err != nil || len(done.Created) > 0 {
			t.Error(done, err)
		}
	})

	for _, index := range []string{"outbox_pending", "outbox_published"} {
		require.Equal(t, "true 5", db.text(t, "SELECT indisvalid || ' ' || (SELECT count(*) FROM pg_inherits WHERE inhparent = indexrelid) FROM pg_index WHERE indexrelid = $1::regclass", index))
	}
	require.Equal(t, postgres.Migrated{From: 3, To: 3}, db.partition(t, daily))
}

// The names of parts are not to collide, nor one of another definition to be in
// the way.
func TestReplacesAnIndexOfAPartitionedTable(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"outbox", strings.Repeat("n", 49), strings.Repeat("ü", 24)} {
		table := postgres.Table{Schema: "public", Name: name}
		db := newOwned(t)
		config := daily
		config.Table = table
		db.partition(t, config)
		index := postgres.Table{Schema: "public", Name: name + "_pending"}.String()
		db.exec(t, "DROP INDEX "+index+"; CREATE INDEX "+pgx.Identifier{name + "_pending"}.Sanitize()+" ON "+table.String()+" (topic)")

		require.Contains(t, db.partition(t, config).Applied, "index "+name+"_pending")

		require.Equal(t, "true 5", db.text(t, "SELECT indisvalid || ' ' || (SELECT count(*) FROM pg_inherits WHERE inhparent = indexrelid) FROM pg_index WHERE indexrelid = $1::regclass AND indpred IS NOT NULL", index))
		require.Equal(t, postgres.Migrated{From: 3, To: 3}, db.partition(t, config))
	}
}

// It is looked at while those who insert wait.
func TestWhetherAPartitionIsNeededIsReadFromItsIndexes(t *testing.T) {
	t.Parallel()

	for name, test := range stale {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newDatabase(t)
			db.Exec(t, withoutVacuum+test.prepare)
			settings, needed := postgres.NeededSQL(publicOutbox)
			for mode, times := range cacheModes(test.floors) {
				planner := newPlannerOf(t, &database{db.Database, db.CreateLogin(t, "outbox_admin")}, mode, "BEGIN", settings, "(float8)", needed)
				for range times {
					requireScans(t, planner.explainWith(t, "(3600)"), "outbox", map[string]int{"outbox_pending": 1, "outbox_published": 1})
				}
			}
		})
	}
}

func TestPartitionsBeginWhereTheirIntervalDoes(t *testing.T) {
	t.Parallel()

	at := func(text string) time.Time {
		parsed, err := time.Parse("2006-01-02 15", text)
		require.NoError(t, err)
		return parsed
	}
	type spans = [][2]time.Time
	for name, test := range map[string]struct {
		interval string
		existing spans
		now      time.Time
		expected spans
	}{
		"Day": {
			"day", nil, at("2024-02-28 23"),
			spans{{at("2024-02-28 00"), at("2024-02-29 00")}, {at("2024-02-29 00"), at("2024-03-01 00")}},
		},
		"WeekFromMonday": {
			"week", nil, at("2023-01-01 05"), // a Sunday
			spans{{at("2022-12-26 00"), at("2023-01-02 00")}, {at("2023-01-02 00"), at("2023-01-09 00")}},
		},
		"Month": {
			"month", nil, at("2023-12-31 23"),
			spans{{at("2023-12-01 00"), at("2024-01-01 00")}, {at("2024-01-01 00"), at("2024-02-01 00")}},
		},
		"Covered": {
			"day", spans{{at("2024-01-01 00"), at("2024-01-02 00")}, {at("2024-01-02 00"), at("2024-01-03 00")}}, at("2024-01-01 10"), nil,
		},
		"AfterMonthsCameDays": {
			"day",
			spans{{at("2024-01-01 00"), at("2024-02-01 00")}},
			at("2024-01-31 10"),
			spans{{at("2024-02-01 00"), at("2024-02-02 00")}},
		},
		"AfterDaysCameMonths": {
			"month",
			spans{{at("2024-01-01 00"), at("2024-01-02 00")}, {at("2024-01-03 00"), at("2024-01-04 12")}},
			at("2024-01-02 10"),
			spans{{at("2024-01-02 00"), at("2024-01-03 00")}, {at("2024-01-04 12"), at("2024-02-01 00")}, {at("2024-02-01 00"), at("2024-03-01 00")}},
		},
		"AHoleInTime": {
			"day",
			spans{{at("2024-01-02 00"), at("2024-01-03 00")}},
			at("2024-01-01 10"),
			spans{{at("2024-01-01 00"), at("2024-01-02 00")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, test.expected, postgres.MissingPartitions(test.existing, test.interval, 1, test.now))
		})
	}
}
