package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"outboxrelay/internal/outbox"
)

// explain turns an error of the driver into one of the domain: it says what to
// do where we know it, and wraps outbox.ErrRefused where the same statement
// would be refused again.
func explain(table Table, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	if hint := hint(table, pg.Code); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	if refused(pg.Code) {
		err = fmt.Errorf("%w: %w", outbox.ErrRefused, err)
	}
	return err
}

// hint says what an operator can do about a SQLSTATE.
func hint(table Table, code string) string {
	switch code {
	case "42P01":
		return fmt.Sprintf("create the tables of %s (make schema prints them) or correct OUTBOX_TABLE", table)
	case "42703":
		return fmt.Sprintf("%s lacks a column of the contract: compare it with what make schema prints", table)
	case "42501":
		return "give the user the role outbox_relay, which make schema prints with its grants"
	case "25006":
		return "the connection leads to a read-only server: use the endpoint of the writer"
	case "25P03":
		return "the batch was not settled in time"
	}
	return ""
}

// refused tells statements that fail by their content from those that fail by
// circumstance: connection, resources, time limits, locks, shutdown.
func refused(code string) bool {
	switch code[:2] {
	case "08", "25", "40", "53", "55", "57", "58", "XX":
		return false
	}
	return true
}
