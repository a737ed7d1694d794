package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// pipeline collects statements that go to the server in one round trip. The
// first error ends it: the server skips what follows.
type pipeline struct {
	conn  *pgx.Conn
	batch pgconn.Batch
	steps []step
	err   error
}

// step is one statement of a pipeline.
type step struct {
	name string
	row  func(row) error                       // called for each row of the result
	done func(tag pgconn.CommandTag) error     // called when the statement completed
	cols func([]pgconn.FieldDescription) error // called once, before the first row
}

// param is a statement's parameter: a value and the type it is sent as.
type param struct {
	oid   uint32
	value any
}

func int8Param(v int64) param  { return param{pgtype.Int8OID, v} }
func textParam(v string) param { return param{pgtype.TextOID, v} }

// timeParam is a timestamptz; the zero time is before every other.
func timeParam(v time.Time) param {
	if v.IsZero() {
		return param{pgtype.TimestamptzOID, pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}}
	}
	return param{pgtype.TimestamptzOID, v}
}

func int8sParam(v []int64) param  { return param{pgtype.Int8ArrayOID, notNil(v)} }
func int4sParam(v []int32) param  { return param{pgtype.Int4ArrayOID, notNil(v)} }
func textsParam(v []string) param { return param{pgtype.TextArrayOID, notNil(v)} }
func notNil[T any](v []T) []T {
	if v == nil {
		return []T{} // nil would be sent as NULL
	}
	return v
}

// inBinary asks for every column of a result in binary: exact, and independent of
// the session's DateStyle and TimeZone.
var inBinary = []int16{pgx.BinaryFormatCode}

// stepError is the error of one statement.
type stepError struct {
	step  string
	cause error
}

func (e *stepError) Error() string { return e.step + ": " + e.cause.Error() }
func (e *stepError) Unwrap() error { return e.cause }

// add appends a statement.
func (p *pipeline) add(s step, sql string, params ...param) {
	values := make([][]byte, len(params))
	oids := make([]uint32, len(params))
	formats := make([]int16, len(params))
	for i, param := range params {
		value, err := p.encode(param)
		if err != nil && p.err == nil {
			p.err = fmt.Errorf("%s: parameter %d: %w", s.name, i+1, err)
		}
		values[i], oids[i], formats[i] = value, param.oid, pgx.BinaryFormatCode
	}
	p.steps = append(p.steps, s)
	p.batch.ExecParams(sql, values, oids, formats, inBinary)
}

// written is a parameter's value that is in the binary format already.
type written []byte

func (p *pipeline) encode(param param) ([]byte, error) {
	if value, ok := param.value.(written); ok {
		return value, nil
	}
	// A buffer to begin with: an empty text would be sent as NULL without one.
	return p.conn.TypeMap().Encode(param.oid, pgx.BinaryFormatCode, param.value, []byte{})
}

// run sends the statements and reads their results in turn. The error names
// the statement that failed.
func (p *pipeline) run(ctx context.Context) error {
	if p.err != nil {
		return p.err
	}
	results := p.conn.PgConn().ExecBatch(ctx, &p.batch)
	for _, s := range p.steps {
		if err := read(results, s); err != nil {
			_ = results.Close() // the error is the same one, or a consequence of it
			return &stepError{s.name, err}
		}
	}
	return results.Close()
}

func read(results *pgconn.MultiResultReader, s step) error {
	if !results.NextResult() {
		if err := results.Close(); err != nil {
			return err
		}
		return fmt.Errorf("the server sent no result")
	}
	result := results.ResultReader()
	if s.cols != nil {
		if err := s.cols(result.FieldDescriptions()); err != nil {
			return err
		}
	}
	for result.NextRow() {
		if s.row == nil {
			continue
		}
		if err := s.row(row(result.Values())); err != nil {
			return err
		}
	}
	tag, err := result.Close()
	if err != nil || s.done == nil {
		return err
	}
	return s.done(tag)
}
