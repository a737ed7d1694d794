// Package wire holds what functions have in common on the outside: the log, the
// way to the database, and the JSON form of the lag.
package wire
