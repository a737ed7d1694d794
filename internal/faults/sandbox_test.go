package faults

import (
	"slices"
)

// sandboxFaults are all that can happen to the process itself.
var sandboxFaults = slices.Concat(killFaults, limitFaults, freezeFaults, wakeFaults)
