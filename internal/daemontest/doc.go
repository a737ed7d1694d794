// Package daemontest runs the servers of tests: PostgreSQL and PgBouncer.
//
// A server cannot outlive the process that started it, however that ends: a shell stands between the two, which holds one end of a
// pipe and stops the server and removes its data when the other end closes (watchdog.sh).
//
// Neither server runs as root. A process of root's runs them as the user postgres, or nobody where that is missing.
package daemontest
