package faults

import "slices"

// databaseFaults are all that can happen to the database and to the way to it, by
// theme.
var databaseFaults = slices.Concat(
	sessionFaults, restartFaults, standbyFaults,
	connectFaults, resetFaults, silentFaults, []fault{frozenFault}, slowFaults,
	loginFaults, placeFaults, lockFaults, schemaFaults,
)
