package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"outboxrelay/internal/outbox"
)

// CleanupStore is the outbox for who deletes what has been kept for long
// enough. It implements outbox.CleanupStore.
type CleanupStore struct {
	connect func(context.Context) (*pgx.Conn, error)
	table   Table
	queries cleanupQueries
}

// NewCleanupStore returns a store whose sessions are connections that connect
// opens. It does not connect yet.
func NewCleanupStore(connect func(context.Context) (*pgx.Conn, error), table Table) *CleanupStore {
	return &CleanupStore{connect: connect, table: table, queries: newCleanupQueries(table)}
}

// Connect implements outbox.CleanupStore.
func (s *CleanupStore) Connect(ctx context.Context) (outbox.CleanupSession, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &cleanupSession{link{conn, s.table, "outbox_cleanup"}, s.queries}, nil
}

// cleanupSession is one connection.
type cleanupSession struct {
	link

	queries cleanupQueries
}

// Oldest implements outbox.CleanupSession.
func (s *cleanupSession) Oldest(ctx context.Context, search outbox.Search) (outbox.Expired, error) {
	var expired outbox.Expired
	query := s.queries.kinds[search.Kind]
	err := s.transact(ctx, search.Limit, func(p *pipeline) {
		p.add(step{
			name: fmt.Sprintf("find the oldest %s", search.Kind),
			cols: func(columns []pgconn.FieldDescription) error { return requireZone(columns[1]) },
			row: func(r row) error {
				expired.Upto = outbox.Place{At: r.int8(0) - 1, Seq: math.MaxInt64}
				expired.Found = r[2] != nil
				expired.First = outbox.Place{At: r.int8(1), Seq: r.int8(2)}
				return nil
			},
		}, query.oldest,
			microsParam(search.After.At), int8Param(search.After.Seq), int8Param(search.Retention.Microseconds()),
			int8Param(int64(search.Skip)))
	})
	return expired, err
}

// Delete implements outbox.CleanupSession.
func (s *cleanupSession) Delete(ctx context.Context, deletion outbox.Deletion) (outbox.Deleted, error) {
	var deleted outbox.Deleted
	err := s.transact(ctx, deletion.Limit, func(p *pipeline) {
		p.add(step{
			name: fmt.Sprintf("delete each expired %s", deletion.Kind),
			row: func(r row) error {
				deleted = outbox.Deleted{
					Locked: int(r.int8(0)), Deleted: int(r.int8(1)),
					Last: outbox.Place{At: r.int8(2), Seq: r.int8(3)}, Kept: r.int8(4),
				}
				return nil
			},
		}, s.queries.kinds[deletion.Kind].remove,
			microsParam(deletion.After.At), int8Param(deletion.After.Seq),
			microsParam(deletion.Upto.At), int8Param(deletion.Upto.Seq), int8Param(int64(deletion.Rows)))
		// A check that waits for the commit would be under no limit there.
		p.add(step{name: "check constraints"}, "SET CONSTRAINTS ALL IMMEDIATE")
		p.add(step{name: "time", row: func(r row) error {
			deleted.Took = time.Duration(r.int8(0)) * time.Microsecond
			return nil
		}}, s.queries.took)
	})
	return deleted, err
}

// transact runs statements in a transaction of their own, in one round trip.
func (s *cleanupSession) transact(ctx context.Context, limit time.Duration, add func(*pipeline)) error {
	p := s.pipeline()
	p.add(step{name: beginStep}, s.queries.begin)
	p.add(step{name: "settings"}, s.queries.settings, int8Param(limit.Milliseconds()))
	add(p)
	p.add(commit(nil), "COMMIT")
	err := s.run(ctx, p)
	by, ok := undone(err)
	if !ok {
		return err
	}
	if rollbackErr := s.rollback(ctx); rollbackErr != nil {
		return fmt.Errorf("%w (%w)", err, rollbackErr)
	}
	return &outbox.UndoneError{By: by, Cause: err}
}

// rollback ends a transaction that has failed. It holds no locks any more.
func (s *cleanupSession) rollback(ctx context.Context) error {
	p := s.pipeline()
	p.add(step{name: "rollback"}, "ROLLBACK")
	return s.run(ctx, p)
}

// undone reports an error after which less of the same may succeed, on the same
// connection: a limit, a deadlock, or a trigger or a constraint that refuses a
// row, which may raise any SQLSTATE: an error with a context that is not fatal
// comes from there. What the statement itself cannot do, such as reading a table
// that is not there, is none of these.
func undone(err error) (by outbox.UndoneBy, ok bool) {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return 0, false
	}
	switch pg.Code {
	case queryCanceled:
		return outbox.ByLimit, true
	case lockNotAvailable, deadlockDetected, serializationFailure:
		return outbox.ByLock, true
	}
	if pg.SeverityUnlocalized == "ERROR" && pg.Where != "" {
		return outbox.ByRefusal, true
	}
	const access = "42" // and syntax; of the statement's own
	return outbox.ByRefusal, refused(pg.Code) && class(pg.Code) != access
}

// microsParam is a timestamptz as the server writes it, a number that is in the
// order of time, infinity included.
func microsParam(v int64) param {
	return param{pgtype.TimestamptzOID, written(binary.BigEndian.AppendUint64(nil, uint64(v)))} //nolint:gosec // the same bits
}
