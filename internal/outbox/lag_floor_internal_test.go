package outbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAClockThatWasSetBackKeepsNoProbeFromTheFront(t *testing.T) {
	t.Parallel()

	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	floor := newLagFloor()
	floor.found(floor.begin(now), Measurement{First: 11, Greatest: 20, Took: time.Hour}, now)
	require.False(t, floor.begin(now).fromFront())
	require.True(t, floor.begin(now.Add(-time.Second)).fromFront())
}

// The monotonic clock of a sandbox stands still while it is frozen.
func TestAFloorGoesByTheWallClock(t *testing.T) {
	t.Parallel()

	now := time.Now()
	floor := newLagFloor()
	floor.found(floor.begin(now), Measurement{First: 11, Greatest: 20, Took: time.Hour}, now)
	require.Equal(t, now.Round(0), floor.scanned)
	require.Equal(t, now.Round(0).Add(5*time.Minute), floor.scanNext)
}
