// Package postgres keeps the outbox in PostgreSQL: it is the outbox.Store, and
// the outbox.CleanupStore.
//
// Each statement is a file of its own in query/ and says there why it is as it
// is. Statements are sent without names and with their transaction's limits
// set inside the transaction, so that nothing depends on the session: poolers
// and proxies need no switch.
package postgres
