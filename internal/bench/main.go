// Command bench measures the functions on this machine: the binary that is deployed,
// under the Lambda emulator, with a real PostgreSQL that syncs its commits to
// disk, and the EventBridge stand-in as a process of its own.
//
//	go run . [FLAG ...] [NAME ...]
//
// It prints figures and judges them only where they compare two that are of the
// same machine, or where a guarantee is at stake.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// benchmark prints the figures of one measurement.
type benchmark struct {
	name, about string
	run         func(context.Context) error
}

// benchmarks reads what sizes there are to choose, and returns the benchmarks
// and the arguments that are left.
func benchmarks(args []string) ([]benchmark, []string, error) {
	cleanup, lag := &cleanupSizes{}, &lagSizes{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	cleanup.define(flags)
	lag.define(flags)
	if err := flags.Parse(args); err != nil {
		return nil, nil, err
	}
	return []benchmark{
		{"drain", "100,000 events of 400 bytes, the bus answers after 20 ms", drain},
		{"cleanup", cleanup.about(), cleanup.run},
		{"lag", lag.about(), lag.run},
	}, flags.Args(), nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // stop only matters to a program that goes on
	}
}

func run(ctx context.Context, args []string) error {
	if slices.Equal(args, []string{standInCommand}) {
		return serveStandIn(ctx)
	}
	benchmarks, names, err := benchmarks(args)
	if err != nil {
		return err
	}
	if err := known(benchmarks, names); err != nil {
		return err
	}
	for _, b := range benchmarks {
		if len(names) > 0 && !slices.Contains(names, b.name) {
			continue
		}
		fmt.Printf("%s: %s\n", b.name, b.about)
		if err := b.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return nil
}

// known refuses names that are no benchmark's.
func known(benchmarks []benchmark, names []string) error {
	var all []string
	for _, b := range benchmarks {
		all = append(all, b.name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("there is no benchmark %q, only %s", name, strings.Join(all, ", "))
		}
	}
	return nil
}
