package main

import (
	"fmt"
	"strings"

	"outboxrelay/internal/postgres"
)

// MigrateError is what a failed invocation returns. Its name is the error type
// that Lambda reports, so it is the outermost error.
type MigrateError struct {
	done  postgres.Migrated // before
	cause error
}

// Error says what is wrong, what to do, and what was done before.
func (e *MigrateError) Error() string {
	return fmt.Sprintf("%v (in this run: applied [%s], created [%s], dropped [%s])", e.cause,
		strings.Join(e.done.Applied, ", "), strings.Join(e.done.Created, ", "), strings.Join(e.done.Dropped, ", "))
}

// Unwrap returns the cause.
func (e *MigrateError) Unwrap() error { return e.cause }
