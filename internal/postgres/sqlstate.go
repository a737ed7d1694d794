package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that the code branches on.
const (
	insufficientPrivilege = "42501"
	undefinedTable        = "42P01"
	undefinedColumn       = "42703"
	invalidSchema         = "3F000"
	readOnly              = "25006" // a server that takes no writes
	idleInTransaction     = "25P03"
	lockNotAvailable      = "55P03"
	deadlockDetected      = "40P01"
	serializationFailure  = "40001"
	queryCanceled         = "57014"
	checkViolation        = "23514"
	uniqueViolation       = "23505"
	duplicateObject       = "42710"
	noConflictTarget      = "42P10" // ON CONFLICT names columns without a key
	protocolViolation     = "08P01" // also how a pooler says that it refuses or ends something
	notSupported          = "0A000"
	internalError         = "XX000"
)

// sqlState of an error; empty: it has none.
func sqlState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// class is the first two characters of a SQLSTATE; empty where there is none.
func class(state string) string { return state[:min(2, len(state))] }
