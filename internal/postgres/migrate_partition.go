package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
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

// partitionedOutbox is the outbox as a partitioned table: the same, but for its
// key, which has to have the column that it is partitioned by.
func (r *migrateRun) partitionedOutbox(create string) string {
	const end = "PRIMARY KEY (seq)\n);"
	return r.table.rename(strings.Replace(create, end, "PRIMARY KEY (seq, created_at)\n) PARTITION BY "+byCreatedAt+";", 1))
}

// partitions makes those that are ahead and drops those that are over.
func (r *migrateRun) partitions(ctx context.Context) error {
	found, err := r.partitionsOf(ctx, r.table)
	if err != nil {
		return err
	}
	var millis int64 // a time as such would be written in the session's DateStyle
	if err := r.conn.QueryRow(ctx, "SELECT (extract(epoch FROM now()) * 1000)::bigint").Scan(&millis); err != nil {
		return fmt.Errorf("ask for the time: %w", err)
	}
	now := time.UnixMilli(millis).UTC()
	var errs []error
	for _, part := range r.missingPartitions(found, now) {
		if err := r.createPartition(ctx, part); err != nil {
			errs = append(errs, fmt.Errorf("create partition %s: %w", part.table.Name, err))
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

// newPartition is one to be made.
type newPartition struct {
	table  Table
	values string // that it is for, as SQL writes them
}

func (r *migrateRun) missingPartitions(found []partition, now time.Time) []newPartition {
	var parts []newPartition
	if !slices.ContainsFunc(found, func(part partition) bool { return part.Default }) {
		parts = append(parts, newPartition{r.table.companion("_default"), "DEFAULT"})
	}
	for _, span := range missing(found, r.config.Interval, r.config.Ahead, now) {
		parts = append(parts, newPartition{r.table.companion(partSuffix(span.from)), fmt.Sprintf("FOR VALUES FROM ('%s') TO ('%s')",
			span.from.Format(time.RFC3339Nano), span.to.Format(time.RFC3339Nano))})
	}
	return parts
}

func (r *migrateRun) partitionsOf(ctx context.Context, table Table) ([]partition, error) {
	var found []partition
	err := r.once(ctx, lockWait, func(tx pgx.Tx) error {
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

const (
	// attachWait is shorter than what relays and the lag function wait for a lock:
	// they are who waits.
	attachWait = 1500 * time.Millisecond
	// attachLimit bounds the wait and the search of the default partition.
	attachLimit = "3s"
	// dropLimit bounds all that is done while those who insert wait.
	dropLimit = "250ms"
)

// createPartition makes a table and then attaches it, which, unlike creating it
// as a partition, does not lock out those who insert. It does lock the default
// partition, which is searched for rows of the new one, and so holds up relays.
func (r *migrateRun) createPartition(ctx context.Context, part newPartition) error {
	sql := fmt.Sprintf("SET LOCAL statement_timeout = '%s';\n", attachLimit) +
		fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING STORAGE INCLUDING COMPRESSION);\n",
			part.table, r.table) +
		part.table.rename(storageSQL) +
		fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s %s", r.table, part.table, part.values)
	err := r.briefly(ctx, attachWait, script(ctx, sql))
	switch sqlState(err) {
	case checkViolation:
		r.log.WarnContext(ctx, "a partition was not made: events of its time are in the default partition, and stay there until they are deleted",
			"partition", part.table.Name)
		return nil
	case queryCanceled:
		return fmt.Errorf("%w; the default partition takes too long to be searched: delete what is published from it, by cleanup", err)
	}
	if err != nil {
		return err
	}
	r.done.Created = append(r.done.Created, part.table.Name)
	r.log.InfoContext(ctx, "created a partition", "partition", part.table.Name)
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
	err := r.once(ctx, lockWait, func(tx pgx.Tx) error { return r.unneeded(ctx, tx, part) })
	if err == nil {
		err = r.briefly(ctx, lockWait, func(tx pgx.Tx) error {
			lock := fmt.Sprintf("SET LOCAL statement_timeout = '%s'; LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE", dropLimit, r.table)
			if err := runScript(ctx, tx.Conn(), lock); err != nil {
				return err
			}
			if err := r.unneeded(ctx, tx, part); err != nil {
				return err
			}
			return runScript(ctx, tx.Conn(), "DROP TABLE "+part.table().String())
		}, queryCanceled)
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

// byIndexSQL keeps old statistics from making it read the partition.
const byIndexSQL = "SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'jit']) AS name"

func (r *migrateRun) unneeded(ctx context.Context, tx pgx.Tx, part partition) error {
	if err := runScript(ctx, tx.Conn(), byIndexSQL); err != nil {
		return err
	}
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
