package main

import (
	"fmt"

	"outboxrelay/internal/outbox"
)

// RelayError is what a failed invocation returns. Its name is the error type
// that Lambda reports, so it is the outermost error.
type RelayError struct {
	report outbox.Report // what was done before
	cause  error
}

// Error says what is wrong, what to do, and what was done before.
func (e *RelayError) Error() string {
	return fmt.Sprintf("%v (in this run: %d published, %d failed, %d deferred)",
		e.cause, e.report.Published, e.report.Failed, e.report.Deferred)
}

// Unwrap returns the cause.
func (e *RelayError) Unwrap() error { return e.cause }
