// Package pgbouncertest runs a real PgBouncer in front of a server of package postgrestest.
//
//	pooler := pgbouncertest.New(t, server, pgbouncertest.Options{PoolSize: 2})
//	pooler.URL(db.Name, login)
//
// The program is looked for on the machine (see [Find]). Where it is missing a test is skipped, but in CI it fails. As with the
// server, the pooler does not run as root and cannot outlive the process (package daemontest).
//
// The package reads two environment variables: OUTBOX_TEST_PGBOUNCER, the program to run (nothing else is tried then), and CI.
package pgbouncertest
