package main

// LagError is what a failed invocation returns. Its name is the error type that
// Lambda reports, so it is the outermost error.
type LagError struct{ cause error }

// Error says what is wrong and what to do.
func (e *LagError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *LagError) Unwrap() error { return e.cause }
