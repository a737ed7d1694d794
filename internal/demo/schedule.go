package main

import (
	"context"
	"time"

	"outboxrelay/internal/lambdatest"
)

// schedule invokes a function, as EventBridge Scheduler does in the cloud.
type schedule struct {
	invoke func(context.Context) (lambdatest.Response, error)
	every  time.Duration
	runs   runs
}

// runs counts how a function's invocations ended.
type runs struct {
	good, crashed int

	errors    int    // that the function returned, and its timeouts
	lastError string // "" when there was none
}

// run invokes the function at every tick until it is told to stop, and returns
// when the last invocation is over. A tick that comes while the function runs is
// skipped.
func (s *schedule) run(ctx context.Context, stop <-chan struct{}) error {
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	for {
		s.runs.add(s.invoke(ctx))
		select {
		case <-ticker.C:
		default:
		}
		select {
		case <-ticker.C:
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *runs) all() int { return r.good + r.crashed + r.errors }

func (r *runs) add(response lambdatest.Response, err error) {
	switch {
	case err != nil:
		r.failed(err.Error())
	case response.Crashed:
		r.crashed++
	case response.ErrorType != "":
		r.failed(response.ErrorType + ": " + response.ErrorMessage)
	default:
		r.good++
	}
}

func (r *runs) failed(message string) {
	r.errors++
	r.lastError = message
}
