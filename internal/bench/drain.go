package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"outboxrelay/internal/lambdatest"
)

const (
	drainEvents = 100_000
	drainBytes  = 400
	drainRuns   = 3
	memoryMB    = 256
)

// figures are what one drain measured.
type figures struct {
	rate    float64 // events a second, from the start of the run to its end
	peakRSS int64   // bytes
}

// drain empties an outbox in one invocation, several times, and prints the
// median of each figure.
func drain(ctx context.Context) error {
	var rates []float64
	var peaks []int64
	for run := range drainRuns {
		f, err := drainOnce(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("  run %d: %.0f events/s, peak resident memory %.1f MB\n", run+1, f.rate, megabytes(f.peakRSS))
		rates, peaks = append(rates, f.rate), append(peaks, f.peakRSS)
	}
	slices.Sort(rates)
	slices.Sort(peaks)
	fmt.Printf("  median: %.0f events/s, peak resident memory %.1f MB\n", rates[drainRuns/2], megabytes(peaks[drainRuns/2]))
	return nil
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

func drainOnce(ctx context.Context) (f figures, err error) {
	outbox, err := openOutbox(ctx)
	if err != nil {
		return f, err
	}
	defer func() { _ = outbox.close() }()
	if err := outbox.fill(ctx, drainEvents, drainBytes); err != nil {
		return f, err
	}
	bus, err := startStandIn(ctx)
	if err != nil {
		return f, err
	}
	defer bus.kill()
	url, err := outbox.url(ctx, "outbox_relay")
	if err != nil {
		return f, err
	}
	relay, err := openRelay(ctx, url, bus.url)
	if err != nil {
		return f, err
	}
	defer relay.Close()
	if f, err = measure(ctx, relay); err != nil {
		return f, err
	}
	return f, verify(ctx, outbox, bus)
}

// openRelay starts the function with its default settings.
func openRelay(ctx context.Context, databaseURL, busURL string) (*lambdatest.Function, error) {
	bootstrap, err := lambdatest.Build(ctx, "relay")
	if err != nil {
		return nil, err
	}
	env := map[string]string{
		"DATABASE_URL":                 databaseURL,
		"AWS_ENDPOINT_URL_EVENTBRIDGE": busURL,
	}
	for _, key := range []string{"RELAY_WORKERS", "RELAY_CONCURRENCY", "RELAY_BATCH_SIZE", "GODEBUG"} {
		if value, ok := os.LookupEnv(key); ok { // to try other settings by hand
			env[key] = value
		}
	}
	return lambdatest.Open(ctx, lambdatest.Config{Bootstrap: bootstrap, Env: env, Timeout: 5 * time.Minute, MemoryMB: memoryMB})
}

func measure(ctx context.Context, relay *lambdatest.Function) (figures, error) {
	response, err := relay.Invoke(ctx, nil)
	if err != nil {
		return figures{}, err
	}
	var answer struct {
		Published  int   `json:"published"`
		DurationMS int64 `json:"duration_ms"`
	}
	if err := json.Unmarshal(response.Payload, &answer); err != nil || answer.Published != drainEvents {
		return figures{}, fmt.Errorf("the relay published %d of %d events: %s %s",
			answer.Published, drainEvents, response.ErrorType, response.ErrorMessage)
	}
	peak, err := relay.PeakRSS()
	return figures{1000 * float64(answer.Published) / float64(answer.DurationMS), peak}, err
}

// verify makes sure that what was measured was the whole work.
func verify(ctx context.Context, outbox *outboxDatabase, bus *standIn) error {
	accepted, distinct, err := bus.stop()
	if err != nil {
		return err
	}
	pending, err := outbox.pending(ctx)
	if err != nil {
		return err
	}
	if accepted != drainEvents || distinct != drainEvents || pending != 0 {
		return fmt.Errorf("%d events accepted, %d different ones, %d still pending, of %d", accepted, distinct, pending, drainEvents)
	}
	return nil
}
