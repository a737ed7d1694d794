package main

import (
	"fmt"

	"outboxrelay/internal/outbox"
)

// CleanupError is what a failed invocation returns. Its name is the error type
// that Lambda reports, so it is the outermost error.
type CleanupError struct {
	report outbox.CleanupReport // what was done before
	cause  error
}

// Error says what is wrong, what to do, and what was done before.
func (e *CleanupError) Error() string {
	return fmt.Sprintf("%v (in this run: %d deleted, %d failed events deleted)",
		e.cause, e.report.Deleted, e.report.DeletedFailed)
}

// Unwrap returns the cause.
func (e *CleanupError) Unwrap() error { return e.cause }
