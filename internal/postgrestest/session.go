package postgrestest

import "testing"

// TerminateSessions ends all sessions in the database, as a failover would, waits until they are gone and returns how many there
// were. Their clients get SQLSTATE 57P01 or a closed connection.
func (d *Database) TerminateSessions(tb testing.TB) int {
	tb.Helper()
	return d.QueryInt(tb, `
		select count(*) filter (where pg_terminate_backend(pid, 10000))
		from pg_stat_activity
		where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`)
}
