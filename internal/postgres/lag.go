package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"outboxrelay/internal/outbox"
)

// LagStore measures the outbox in a PostgreSQL database. It implements
// outbox.LagStore.
type LagStore struct {
	connect func(context.Context) (*pgx.Conn, error)
	config  LagConfig
	queries lagQueries
}

// LagConfig says which outbox a LagStore measures.
type LagConfig struct {
	Table Table
	// Bus is the event bus, by name or ARN, of rows without a topic.
	Bus string
	// CountLimit is where counts of rows stop.
	CountLimit int
}

// NewLagStore returns a store that measures over connections that connect opens,
// one for each measurement. It does not connect yet.
func NewLagStore(connect func(context.Context) (*pgx.Conn, error), config LagConfig) *LagStore {
	return &LagStore{connect: connect, config: config, queries: newLagQueries(config.Table)}
}

// answerLimit is for what the server has to say once its own limit has ended a
// statement. Who hears nothing by then has lost it.
const answerLimit = 500 * time.Millisecond

// Measure implements outbox.LagStore.
func (s *LagStore) Measure(ctx context.Context, scan outbox.LagScan) (outbox.Measurement, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return outbox.Measurement{}, err
	}
	link := link{conn, s.config.Table, "outbox_lag"}
	defer link.Close(context.WithoutCancel(ctx))
	limit, err := limitWithin(ctx, scan.Limit)
	if err != nil {
		return outbox.Measurement{}, err
	}
	p := link.pipeline()
	measured := s.add(p, scan, limit)
	if err := link.runWithin(ctx, limit+answerLimit, p); err != nil {
		return outbox.Measurement{}, slow(err, limit)
	}
	return *measured, nil
}

// limitWithin is how long the statements may take, which is less than is wanted
// where the context ends before.
func limitWithin(ctx context.Context, wanted time.Duration) (time.Duration, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return wanted, nil
	}
	left := (time.Until(deadline) - answerLimit).Truncate(time.Millisecond)
	if left <= 0 {
		return 0, errors.New("connecting left no time to measure: give the function a longer timeout")
	}
	return min(wanted, left), nil
}

// slow marks the error of a measurement that ran into its limit.
func slow(err error, limit time.Duration) error {
	if sqlState(err) != queryCanceled {
		return err
	}
	return fmt.Errorf("%w: %w (the limit is %s); give the function a longer timeout, "+
		"and see whether a long transaction or a replication slot keeps vacuum from its work", outbox.ErrTooSlow, err, limit)
}

// add adds a transaction that measures. What it returns is filled when the
// pipeline has run.
func (s *LagStore) add(p *pipeline, scan outbox.LagScan, limit time.Duration) *outbox.Measurement {
	measured, filtered := &outbox.Measurement{}, false
	most, within := int8Param(int64(s.config.CountLimit)), int8Param(limit.Milliseconds())
	next := func(measuring step, sql string, params ...param) {
		p.add(step{name: "limit the next statement"}, s.queries.limit, within)
		p.add(measuring, sql, params...)
	}
	p.add(step{name: beginStep}, s.queries.begin)
	p.add(step{name: "settings"}, s.queries.settings, within)
	p.add(step{
		name: "measure pending rows",
		cols: func(columns []pgconn.FieldDescription) error { return requireZone(columns[0]) },
		row:  func(r row) error { pending(measured, r); return nil },
	}, s.queries.pending, int8Param(scan.After), textParam(s.config.Bus), most)
	next(step{
		name: "count failed events",
		row:  func(r row) error { measured.Failed = int(r.int8(0)); return nil },
	}, s.queries.failed, most)
	next(step{
		name: "find the oldest published row",
		row: func(r row) error {
			measured.OldestPublished, _ = r.time(0)
			measured.OldestPublishedAge = r.age(1, 0)
			return nil
		},
	}, s.queries.published, timeParam(scan.PublishedSince))
	next(step{
		name: "count dead rows",
		row: func(r row) error {
			measured.DeadRows, filtered = r.int8(0), r.bool(1)
			return requireVisible(r.bool(2), s.config.Table)
		},
	}, s.queries.dead, textParam(s.config.Table.String()))
	next(step{
		name: "find the oldest transaction",
		row:  func(r row) error { transactions(measured, r, filtered); return nil },
	}, s.queries.transactions)
	p.add(commit(nil), "COMMIT")
	return measured
}

// requireVisible refuses to measure what nobody could see to stand still.
func requireVisible(hidden bool, table Table) error {
	if !hidden {
		return nil
	}
	return fmt.Errorf("row-level security hides all rows of %s from this user: "+
		"give the roles of the functions a policy that shows them all, for the relay sees no more than this", table)
}

func pending(measured *outbox.Measurement, r row) {
	measured.OldestUnpublishedAge = r.age(1, 2)
	measured.Unpublished = int(r.int8(3))
	measured.UnpublishedIsLowerBound = r.bool(4)
	measured.Paused = int(r.int8(5))
	measured.First, measured.Greatest = r.int8(6), r.int8(7)
}

func transactions(measured *outbox.Measurement, r row, filtered bool) {
	measured.OldestTransactionAge = r.age(3, 0)
	measured.Took = r.age(3, 2)
	measured.Unseen = unseen(r.bool(1), r.bool(4), filtered)
}

// unseen says what a measurement is blind to, and what to do about it.
func unseen(seesAll, standby, filtered bool) string {
	var what []string
	if filtered {
		what = append(what, "row-level security decides which rows are seen: give the roles of the functions a policy that shows them all, "+
			"or what is hidden is neither published nor counted")
	}
	if standby {
		what = append(what, "this is a standby: it counts no dead rows, its transactions are its own, and what it has not replayed yet is no lag to it: "+
			"use the endpoint of the writer")
	}
	if !seesAll {
		what = append(what, "the transactions of other users are not seen: "+
			"have an administrator run GRANT pg_read_all_stats TO outbox_lag, outbox_admin")
	}
	return strings.Join(what, "; ")
}
