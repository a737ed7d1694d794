package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"outboxrelay/internal/outbox"
)

// explain turns an error of the driver into one of the domain: it says what to
// do where we know it, the user's role among that, and wraps outbox.ErrRefused where the same statement
// would be refused again.
func explain(table Table, role string, err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	state := stateOf(err, pg)
	if hint := hint(table, role, state, stepOf(err)); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	if unreadable(err, state) {
		err = fmt.Errorf("%w: %w", outbox.ErrUnreadable, err)
	}
	if refused(state) {
		err = fmt.Errorf("%w: %w", outbox.ErrRefused, err)
	}
	return err
}

// stateOf returns the error's SQLSTATE. A standby has an own way to say that it
// takes no writes: it does not know how to begin a transaction that does.
func stateOf(err error, pg *pgconn.PgError) string {
	if stepOf(err) == beginStep && pg.Code == notSupported {
		return readOnly
	}
	return pg.Code
}

const readOnlyHint = "the connection leads to a read-only server: use the endpoint of the writer"

// stepOf names the statement that failed; empty: it is none in particular.
func stepOf(err error) string {
	if step, ok := errors.AsType[*stepError](err); ok {
		return step.step
	}
	return ""
}

// hint says what an operator can do about a SQLSTATE that a statement has met.
func hint(table Table, role, state, step string) string {
	switch state {
	case undefinedTable:
		return fmt.Sprintf("bring the tables of %s up to date (invoke migrate, or apply what make schema prints) or correct OUTBOX_TABLE", table)
	case undefinedColumn:
		return fmt.Sprintf("%s lacks a column of the contract: compare it with what make schema prints", table)
	case insufficientPrivilege:
		return fmt.Sprintf("give the user the role %s, which make schema prints with its grants", role)
	case readOnly:
		return readOnlyHint
	case lockNotAvailable:
		return fmt.Sprintf("somebody holds a lock on %s or on a table beside it, which pg_locks shows: end that, or wait", table)
	case idleInTransaction:
		return silence(role)
	case uniqueViolation:
		if step == failStep {
			return fmt.Sprintf("%s has an event of that number (seq) already, which keeps the pending one where it is: "+
				"discard it with the function admin, or give one of them another number", table.companion("_failed"))
		}
	}
	return ""
}

// silence says what it means that the server heard nothing for too long in a
// transaction. Only the relay's waits for something other than the network.
func silence(role string) string {
	if role == relayRole {
		return "the batch was not settled in time"
	}
	return "what was to follow did not reach the database in time: look at the network, and at what is between the two"
}

// unreadable reports a claim that met a row whose text the server cannot make:
// it is too long for a value, or out of the client encoding's range.
func unreadable(err error, state string) bool {
	return stepOf(err) == claimStep && (class(state) == "22" || class(state) == "54")
}

// refused tells statements that fail by their content from those that fail by
// circumstance: connection, resources, time limits, locks, shutdown.
func refused(state string) bool {
	switch class(state) {
	case "", "08", "25", "40", "53", "55", "57", "58", "XX":
		return false
	}
	return true
}
