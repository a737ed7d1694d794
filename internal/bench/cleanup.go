package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"outboxrelay/internal/lambdatest"
)

const (
	// worstRatio is how much longer than without a cleanup the slowest
	// hundredth of the inserts may take.
	worstRatio = 1.5
	// longestLocks is how long a batch may hold its locks.
	longestLocks = 250 * time.Millisecond
)

// cleanupSizes say how much there is to clean up, and what goes on meanwhile.
type cleanupSizes struct {
	rows, expired int           // in the table, and of them to be deleted
	rate          int           // inserts a second
	runs          int           // with and without a cleanup, in turn
	quiet         time.Duration // a run without
}

func (s *cleanupSizes) define(flags *flag.FlagSet) {
	flags.IntVar(&s.rows, "cleanup-rows", 3_000_000, "rows in the table of the benchmark cleanup")
	flags.IntVar(&s.expired, "cleanup-expired", 1_000_000, "rows of them that have expired")
	flags.IntVar(&s.rate, "cleanup-rate", 500, "inserts a second meanwhile")
	flags.IntVar(&s.runs, "cleanup-runs", 3, "runs with a cleanup, and as many without")
	flags.DurationVar(&s.quiet, "cleanup-quiet", 20*time.Second, "length of a run without a cleanup")
}

func (s *cleanupSizes) about() string {
	return fmt.Sprintf("%d of %d rows have expired, %d inserts a second meanwhile", s.expired, s.rows, s.rate)
}

// cleaned is what one run with a cleanup measured.
type cleaned struct {
	latencies latencies
	rate      float64       // rows deleted a second
	longest   time.Duration // of a batch, with its way there and back
}

// run measures inserts with and without a cleanup, and judges the difference.
func (s *cleanupSizes) run(ctx context.Context) (err error) {
	outbox, err := openOutbox(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, outbox.close()) }()
	began := time.Now()
	if err := s.load(ctx, outbox); err != nil {
		return err
	}
	fmt.Printf("  loaded in %s\n", time.Since(began).Round(time.Second))
	inserts, err := openInserts(ctx, outbox, s.rate)
	if err != nil {
		return err
	}
	defer inserts.close(ctx)
	var quiet, busy []latencies
	var rates []float64
	var longest time.Duration
	for run := range s.runs {
		alone, with, err := s.pair(ctx, outbox, inserts, run)
		if err != nil {
			return err
		}
		fmt.Printf("  run %d: inserts without cleanup %s, with %s; %.0f rows/s deleted, longest batch %s\n",
			run+1, alone, with.latencies, with.rate, with.longest.Round(100*time.Microsecond))
		quiet, busy, rates = append(quiet, alone), append(busy, with.latencies), append(rates, with.rate)
		longest = max(longest, with.longest)
	}
	return judge(medians(quiet), medians(busy), median(rates), longest)
}

// judge prints the figures and says which of them are not as they have to be.
func judge(quiet, busy latencies, rate float64, longest time.Duration) error {
	ratio := float64(busy.p99) / float64(quiet.p99)
	fmt.Printf("  median: inserts without cleanup %s, with %s; p99 ratio %.2f, %.0f rows/s deleted; longest batch of all %s\n",
		quiet, busy, ratio, rate, longest.Round(100*time.Microsecond))
	var errs []error
	if ratio > worstRatio {
		errs = append(errs, fmt.Errorf("the slowest hundredth of the inserts takes %.2f times as long while a cleanup runs, more than %.1f", ratio, worstRatio))
	}
	if longest > longestLocks {
		errs = append(errs, fmt.Errorf("a batch took %s, more than %s", longest, longestLocks))
	}
	return errors.Join(errs...)
}

// days is how old the rows are that a run is to delete: those of each run are ten
// days younger than those of the one before.
func (s *cleanupSizes) days(run int) int { return 10 * (s.runs - run) }

// load fills the table once, with as many expired rows for each run. Of the rest
// a third is pending.
func (s *cleanupSizes) load(ctx context.Context, outbox *outboxDatabase) error {
	old := s.runs * s.expired
	return outbox.exec(ctx, `
		INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, published_at)
		SELECT 'order', 'order-' || n, 'OrderPlaced', jsonb_build_object('filler', repeat('x', 100)),
		       CASE WHEN n <= $2::int THEN now() - ($3::int - (n - 1) / $4::int * 10) * interval '1 day' + n * interval '1 millisecond'
		            WHEN n % 3 > 0 THEN now() END
		FROM generate_series(1, $1::int) AS n`, max(s.rows, old), old, s.days(0), s.expired)
}

// pair measures inserts for a while, and then while a cleanup runs.
func (s *cleanupSizes) pair(ctx context.Context, outbox *outboxDatabase, inserts *inserts, run int) (alone latencies, with cleaned, err error) {
	if err := outbox.exec(ctx, "VACUUM ANALYZE outbox"); err != nil {
		return alone, with, err
	}
	alone, err = inserts.during(ctx, func(ctx context.Context) error {
		pause(ctx, s.quiet)
		return ctx.Err()
	})
	if err != nil {
		return alone, with, err
	}
	if err := outbox.exec(ctx, "SELECT"); err != nil {
		return alone, with, err
	}
	with, err = s.clean(ctx, outbox, inserts, run)
	return alone, with, err
}

// clean runs the function once, with its own settings but for the retention.
func (s *cleanupSizes) clean(ctx context.Context, outbox *outboxDatabase, inserts *inserts, run int) (with cleaned, err error) {
	function, err := s.open(ctx, outbox, run)
	if err != nil {
		return with, err
	}
	defer function.Close()
	var took time.Duration
	with.latencies, err = inserts.during(ctx, func(ctx context.Context) error {
		began := time.Now()
		response, err := function.Invoke(ctx, nil)
		took = time.Since(began)
		if err != nil {
			return err
		}
		return s.check(response)
	})
	if err != nil {
		return with, err
	}
	with.rate = float64(s.expired) / took.Seconds()
	with.longest = longestBatch(function.Logs())
	return with, nil
}

func (s *cleanupSizes) open(ctx context.Context, outbox *outboxDatabase, run int) (*lambdatest.Function, error) {
	bootstrap, err := lambdatest.Build(ctx, "cleanup")
	if err != nil {
		return nil, err
	}
	url, err := outbox.url(ctx, "outbox_cleanup")
	if err != nil {
		return nil, err
	}
	env := map[string]string{
		"DATABASE_URL":      url,
		"CLEANUP_RETENTION": fmt.Sprintf("%dh", 24*(s.days(run)-5)),
		"LOG_LEVEL":         "debug", // tells of each batch
	}
	return lambdatest.Open(ctx, lambdatest.Config{Bootstrap: bootstrap, Env: env, Timeout: 10 * time.Minute, MemoryMB: memoryMB})
}

// check makes sure that what was measured was the whole work.
func (s *cleanupSizes) check(response lambdatest.Response) error {
	var answer struct {
		Deleted int    `json:"deleted"`
		Stopped string `json:"stopped"`
	}
	if err := json.Unmarshal(response.Payload, &answer); err != nil || answer.Deleted != s.expired || answer.Stopped != "done" {
		return fmt.Errorf("the cleanup deleted %d of %d rows: %s %s", answer.Deleted, s.expired, response.ErrorType, response.ErrorMessage)
	}
	return nil
}

// longestBatch is how long a batch took at most, as the function saw it: an
// upper bound of how long it held its locks.
func longestBatch(lines []string) time.Duration {
	var longest time.Duration
	for _, text := range lines {
		var line struct {
			Message string `json:"message"`
			TookUS  int64  `json:"took_us"`
		}
		if err := json.Unmarshal([]byte(text), &line); err == nil && line.Message == "batch ended" {
			longest = max(longest, time.Duration(line.TookUS)*time.Microsecond)
		}
	}
	return longest
}

func median[T float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func medians(all []latencies) latencies {
	var p50, p99 []time.Duration
	for _, l := range all {
		p50, p99 = append(p50, l.p50), append(p99, l.p99)
	}
	return latencies{median(p50), median(p99)}
}
