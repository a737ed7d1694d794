package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"outboxrelay/internal/lambdatest"
)

// cleanupAnswer is what the function cleanup answers, as far as it is of
// interest here.
type cleanupAnswer struct {
	Deleted       int `json:"deleted"`
	DeletedFailed int `json:"deleted_failed"`
}

// deletion is how many rows were deleted by then.
type deletion struct {
	by           time.Time
	rows         int // of published events
	rowsOfFailed int
}

// tally adds up what the function cleanup deletes.
type tally struct {
	function invoke

	mu        sync.Mutex
	deletions []deletion
}

// clean is for a schedule.
func (t *tally) clean(ctx context.Context) (lambdatest.Response, error) {
	response, err := t.function(ctx, struct{}{})
	answer, err := read[cleanupAnswer](response, err)
	if err == nil {
		t.add(answer, time.Now())
	}
	return response, err
}

func (t *tally) add(answer cleanupAnswer, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := deletion{by: at, rows: answer.Deleted, rowsOfFailed: answer.DeletedFailed}
	if n := len(t.deletions); n > 0 {
		sum.rows += t.deletions[n-1].rows
		sum.rowsOfFailed += t.deletions[n-1].rowsOfFailed
	}
	t.deletions = append(t.deletions, sum)
}

// deleted counts the rows of published events.
func (t *tally) deleted() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.deletions) == 0 {
		return 0
	}
	return t.deletions[len(t.deletions)-1].rows
}

// all lists the sums, in order.
func (t *tally) all() []deletion {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.deletions)
}
