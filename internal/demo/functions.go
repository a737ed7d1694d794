package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"outboxrelay/internal/lambdatest"
)

// In the cloud these times are longer: see docs/functions.md.
const (
	// A batch needs PUT_EVENTS_TIMEOUT and a second before the reserve, so a run
	// of 5 s starts batches for 1.8 s: it polls until shortly before the second
	// tick.
	relayEvery   = time.Second
	relayTimeout = 5 * time.Second
	lagEvery     = time.Second
	cleanupEvery = 2 * time.Second
	// retention is how long the rows of published events are kept.
	retention = 3 * time.Second
	// functionTimeout is for all functions but the relay.
	functionTimeout = 10 * time.Second
)

// functionNames are those of the functions that the demo runs.
var functionNames = []string{"migrate", "relay", "cleanup", "lag", "admin"}

// environment is what a function gets beside its database.
func environment(name, busURL string) map[string]string {
	switch name {
	case "relay":
		return map[string]string{
			"AWS_ENDPOINT_URL_EVENTBRIDGE": busURL,
			"PUT_EVENTS_TIMEOUT":           "1s",
			"RELAY_RESERVE":                "1200ms",
			"RELAY_POLL_INTERVAL":          "100ms",
			"RELAY_FRONT_SCAN_MAX":         "300ms",
			"RELAY_RETRY_BASE":             "200ms",
			"RELAY_RETRY_MAX":              "2s",
		}
	case "cleanup":
		return map[string]string{"CLEANUP_RETENTION": retention.String()}
	default:
		return nil
	}
}

// buildFunctions builds them, so that opening them takes no time.
func buildFunctions(ctx context.Context) error {
	for _, name := range functionNames {
		if _, err := lambdatest.Build(ctx, name); err != nil {
			return missing(err)
		}
	}
	return nil
}

// openFunction puts a function into a sandbox, where it logs in to the database
// by this URL.
func (s *stage) openFunction(ctx context.Context, name, databaseURL string) (*lambdatest.Function, error) {
	bootstrap, err := lambdatest.Build(ctx, name)
	if err != nil {
		return nil, missing(err)
	}
	env := map[string]string{"DATABASE_URL": databaseURL}
	maps.Copy(env, environment(name, s.bus.URL()))
	timeout := functionTimeout
	if name == "relay" {
		timeout = relayTimeout
	}
	function, err := lambdatest.Open(ctx, lambdatest.Config{Bootstrap: bootstrap, Env: env, Timeout: timeout})
	return function, missing(err)
}

// migrated is what the function migrate answers.
type migrated struct {
	From    int      `json:"from"`
	To      int      `json:"to"`
	Applied []string `json:"applied"`
}

// migrate makes the tables by the function migrate, and has it see that they are
// there.
func migrate(ctx context.Context, function invoke) (migrated, error) {
	first, err := ask[migrated](ctx, function, struct{}{})
	if err != nil {
		return migrated{}, fmt.Errorf("make the tables: %w", err)
	}
	if first.From != 0 || first.To == 0 || len(first.Applied) == 0 {
		return migrated{}, fmt.Errorf("make the tables: migrate answered %+v for a database that is empty", first)
	}
	second, err := ask[migrated](ctx, function, struct{}{})
	if err != nil {
		return migrated{}, fmt.Errorf("migrate once more: %w", err)
	}
	if second.From != first.To || second.To != first.To || len(second.Applied) != 0 {
		return migrated{}, fmt.Errorf("migrate once more: it answered %+v after %+v", second, first)
	}
	return first, nil
}
