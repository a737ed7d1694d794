package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed catalog/partitions.sql
	partitionsSQL string
	//go:embed catalog/needed.sql
	neededSQL string
)

// partition is one of the outbox's. Those of ours are for a span of created_at,
// but for the default one, which takes what no other does: without it an insert
// with a created_at far off, or on a day when no partition was made, would fail,
// and with it the application's transaction.
type partition struct {
	Schema, Name string
	Lower, Upper *time.Time // nil: none, or not a time
	Default      bool
}

func (p partition) table() Table { return Table{p.Schema, p.Name} }

// span is from a time up to, and without, another.
type span struct{ from, to time.Time }

// partitionedOutbox is the outbox as a partitioned table.
func (r *migrateRun) partitionedOutbox(create string) string {
	const end = "PRIMARY KEY (seq)\n);"
	create = strings.Replace(create, end, "PRIMARY KEY (seq, created_at)\n) PARTITION BY "+byCreatedAt+";", 1)
	rest := r.table.companion("_default")
	return r.table.rename(create) +
		fmt.Sprintf("CREATE TABLE %s PARTITION OF %s DEFAULT;\n", rest, r.table) + rest.rename(storageSQL)
}

// partitions makes those that are ahead and drops those that are over.
func (r *migrateRun) partitions(ctx context.Context) error {
	found, err := r.partitionsOf(ctx, r.table)
	if err != nil {
		return err
	}
	var now time.Time
	if err := r.conn.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return fmt.Errorf("ask for the time: %w", err)
	}
	var errs []error
	for _, span := range missing(found, r.config.Interval, r.config.Ahead, now.UTC()) {
		if err := r.createPartition(ctx, span); err != nil {
			errs = append(errs, fmt.Errorf("create the partition from %s: %w", span.from.Format(time.DateOnly), err))
		}
	}
	for _, part := range found {
		if part.Upper == nil || part.Upper.After(now.Add(-r.config.Retention)) {
			continue
		}
		if err := r.dropPartition(ctx, part); err != nil {
			errs = append(errs, fmt.Errorf("drop partition %s: %w", part.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (r *migrateRun) partitionsOf(ctx context.Context, table Table) ([]partition, error) {
	var found []partition
	err := pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO', true)"); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, partitionsSQL, table.Schema, table.Name) // an error is the rows' too
		var err error
		found, err = pgx.CollectRows(rows, pgx.RowToStructByPos[partition])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for the partitions of %s: %w", table, err)
	}
	return found, nil
}

// createPartition makes a table and then attaches it, which, unlike creating it
// as a partition, does not lock out those who insert. It does lock the default
// partition, which is searched for rows of the new one.
func (r *migrateRun) createPartition(ctx context.Context, span span) error {
	part := r.table.companion(partSuffix(span.from))
	sql := fmt.Sprintf("SET LOCAL statement_timeout = '2s';\nCREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING STORAGE);\n", part, r.table) +
		part.rename(storageSQL) +
		fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')",
			r.table, part, span.from.Format(time.RFC3339Nano), span.to.Format(time.RFC3339Nano))
	err := r.briefly(ctx, script(ctx, sql))
	if sqlState(err) == checkViolation {
		r.log.WarnContext(ctx, "a partition was not made: events of its time are in the default partition, and stay there", "partition", part.Name)
		return nil
	}
	if err != nil {
		return err
	}
	r.done.Created = append(r.done.Created, part.Name)
	r.log.InfoContext(ctx, "created a partition", "partition", part.Name)
	return nil
}

// partSuffix names a partition by when it begins. One that fills a gap may do so
// at any time of a day.
func partSuffix(from time.Time) string {
	if from.Equal(begin("day", from)) {
		return from.Format("_p20060102")
	}
	return from.Format("_p200601021504")
}

// dropPartition drops a partition unless an event in it is pending, or was
// published within the retention. That is looked at twice: at leisure first,
// and then under the lock, where it has to be quick.
func (r *migrateRun) dropPartition(ctx context.Context, part partition) error {
	err := pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) error { return r.unneeded(ctx, tx, part) })
	if err == nil {
		err = r.briefly(ctx, func(tx pgx.Tx) error {
			lock := fmt.Sprintf("SET LOCAL statement_timeout = '250ms'; LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE", r.table)
			if err := runScript(ctx, tx.Conn(), lock); err != nil {
				return err
			}
			if err := r.unneeded(ctx, tx, part); err != nil {
				return err
			}
			return runScript(ctx, tx.Conn(), "DROP TABLE "+part.table().String())
		})
	}
	if errors.Is(err, errNeeded) {
		return nil
	}
	if err != nil {
		return err
	}
	r.done.Dropped = append(r.done.Dropped, part.Name)
	r.log.InfoContext(ctx, "dropped a partition", "partition", part.Name)
	return nil
}

// errNeeded keeps a partition.
var errNeeded = errors.New("the partition is still needed")

func (r *migrateRun) unneeded(ctx context.Context, tx pgx.Tx, part partition) error {
	var needed bool
	if err := tx.QueryRow(ctx, part.table().rename(neededSQL), r.config.Retention.Seconds()).Scan(&needed); err != nil {
		return err
	}
	if needed {
		return errNeeded
	}
	return nil
}

// missing lists the spans that have no partition yet: the current one and those
// ahead, in UTC, but for what others cover already.
func missing(found []partition, interval string, ahead int, now time.Time) []span {
	var spans []span
	from := begin(interval, now)
	for range ahead + 1 {
		to := next(interval, from)
		spans = append(spans, uncovered(span{from, to}, found)...)
		from = to
	}
	return spans
}

// uncovered is what the partitions, in order of time, leave of a span.
func uncovered(wanted span, found []partition) []span {
	var gaps []span
	for _, part := range found {
		if part.Default {
			continue
		}
		lower, upper := bound(part.Lower, wanted.from), bound(part.Upper, wanted.to)
		if !lower.Before(wanted.to) || !upper.After(wanted.from) {
			continue
		}
		if lower.After(wanted.from) {
			gaps = append(gaps, span{wanted.from, lower})
		}
		wanted.from = upper
	}
	if wanted.from.Before(wanted.to) {
		gaps = append(gaps, wanted)
	}
	return gaps
}

// bound is a partition's, or, where that is MINVALUE or MAXVALUE, one that is
// far enough.
func bound(at *time.Time, otherwise time.Time) time.Time {
	if at == nil {
		return otherwise
	}
	return at.UTC()
}

// begin is when the interval of a time began; a week does on Monday.
func begin(interval string, at time.Time) time.Time {
	year, month, day := at.Date()
	switch interval {
	case "week":
		day -= (int(at.Weekday()) + 6) % 7
	case "month":
		day = 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// next is when the interval after the one that began then begins.
func next(interval string, from time.Time) time.Time {
	switch interval {
	case "week":
		return from.AddDate(0, 0, 7)
	case "month":
		return from.AddDate(0, 1, 0)
	}
	return from.AddDate(0, 0, 1)
}
