package main

import (
	"errors"

	"outboxrelay/internal/outbox"
)

// AdminError is what a failed invocation returns. Its name is the error type
// that Lambda reports, so it is the outermost error.
type AdminError struct{ cause error }

// Error says what is wrong, what to do, and whether anything was changed.
func (e *AdminError) Error() string {
	if errors.Is(e.cause, outbox.ErrUncertain) {
		return e.cause.Error()
	}
	return e.cause.Error() + " (nothing was changed)"
}

// Unwrap returns the cause.
func (e *AdminError) Unwrap() error { return e.cause }
