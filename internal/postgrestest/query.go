package postgrestest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Conn opens a superuser's session that is closed when the test ends.
func (d *Database) Conn(tb testing.TB) *pgx.Conn {
	tb.Helper()
	conn, err := d.Connect(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	closeAfter(tb, conn)
	return conn
}

// Connect opens a session by a URL, as from URLAs or Login.URL. It is closed when the test ends.
func Connect(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	closeAfter(tb, conn)
	return conn
}

// closeAfter ignores the error: a test may have ended the session itself.
func closeAfter(tb testing.TB, conn *pgx.Conn) {
	tb.Helper()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	})
}

// Exec runs SQL as the superuser, in a session of its own; without arguments it may be several statements. The limit is a minute.
func (d *Database) Exec(tb testing.TB, sql string, args ...any) {
	tb.Helper()
	d.within(tb, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	})
}

// QueryInt returns the number that a query of one row and one column yields.
func (d *Database) QueryInt(tb testing.TB, sql string, args ...any) int {
	tb.Helper()
	return Scalar[int](tb, d, sql, args...)
}

// Scalar returns the value that a query of one row and one column yields. Where it can be null, T is a pointer.
func Scalar[T any](tb testing.TB, d *Database, sql string, args ...any) T {
	tb.Helper()
	var value T
	d.within(tb, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, sql, args...).Scan(&value)
	})
	return value
}

// within lends a session that nothing a test does to others can have spoilt.
func (d *Database) within(tb testing.TB, use func(context.Context, *pgx.Conn) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), adminTimeout)
	defer cancel()
	conn, err := d.Connect(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := use(ctx, conn); err != nil {
		tb.Fatal(err)
	}
}
