package outbox

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// SelectMost is how many events a selection may take, or name by id.
	SelectMost = 1000
	// CountMost is where the count of selected events stops.
	CountMost = 100_000
)

// Selection says which failed events are meant: those that pass every filter
// that is set, the oldest first.
type Selection struct {
	IDs          []string  // uuids in their canonical form, each once
	EventType    string    // exactly
	ErrorCode    string    // exactly
	FailedBefore time.Time // before, not at
	All          bool      // in place of filters: every failed event
	Limit        int       // 1 to SelectMost
}

// DefaultLimit is the limit where none is asked for: a hundred, or all the
// events that are named by id.
func DefaultLimit(ids int) int { return min(max(100, ids), SelectMost) }

// Validate returns what is wrong with a selection, all of it.
func (s Selection) Validate() error {
	var problems []string
	filtered := len(s.IDs) > 0 || s.EventType != "" || s.ErrorCode != "" || !s.FailedBefore.IsZero()
	switch {
	case s.All && filtered:
		problems = append(problems, "all is true beside a filter: leave out the filters (ids, event_type, error_code, failed_before) or all")
	case !s.All && !filtered:
		problems = append(problems, `no events are selected: give at least one of ids, event_type, error_code, failed_before, or "all": true`)
	}
	if len(s.IDs) > SelectMost {
		problems = append(problems, fmt.Sprintf("ids has %d: expected at most %d", len(s.IDs), SelectMost))
	}
	if s.Limit < 1 || s.Limit > SelectMost {
		problems = append(problems, fmt.Sprintf("limit is %d: expected a whole number from 1 to %d", s.Limit, SelectMost))
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}
