package main

import (
	"context"
	"time"

	"outboxrelay/internal/lambdatest"
)

// A batch needs PUT_EVENTS_TIMEOUT and a second before the reserve, so a run of
// 5 s starts batches for 1.8 s: it polls until shortly before the second tick.
const (
	relayEvery   = time.Second
	relayTimeout = 5 * time.Second
)

// relayEnvironment is the relay's, with what makes its times short. In the cloud
// they are longer, and the schedule is a minute.
func relayEnvironment(databaseURL, busURL string) map[string]string {
	return map[string]string{
		"DATABASE_URL":                 databaseURL,
		"AWS_ENDPOINT_URL_EVENTBRIDGE": busURL,
		"PUT_EVENTS_TIMEOUT":           "1s",
		"RELAY_RESERVE":                "1200ms",
		"RELAY_POLL_INTERVAL":          "100ms",
		"RELAY_FRONT_SCAN_MAX":         "300ms",
		"RELAY_RETRY_BASE":             "200ms",
		"RELAY_RETRY_MAX":              "2s",
	}
}

// schedule invokes the relay, as EventBridge Scheduler does in the cloud.
type schedule struct {
	invoke func(context.Context) (lambdatest.Response, error)
	every  time.Duration
	runs   runs
}

// runs counts how invocations ended.
type runs struct {
	good, crashed int

	errors    int    // that the relay returned, and its timeouts
	lastError string // "" when there was none
}

// run invokes the relay at every tick until it is told to stop, and returns
// when the last invocation is over. A tick that comes while the relay runs is
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
