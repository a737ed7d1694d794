// Package wire holds what the functions put together in the same way: the log,
// and the way to the database.
package wire
