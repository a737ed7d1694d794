// Command bench measures the relay on this machine: the binary that is deployed,
// under the Lambda emulator, with a real PostgreSQL that syncs its commits to
// disk, and the EventBridge stand-in as a process of its own.
//
//	go run . [NAME ...]
//
// It prints figures and judges none: they depend on the machine.
package main

import (
	"context"
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

var benchmarks = []benchmark{
	{"drain", "100,000 events of 400 bytes, the bus answers after 20 ms", drain},
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
	if err := known(args); err != nil {
		return err
	}
	for _, b := range benchmarks {
		if len(args) > 0 && !slices.Contains(args, b.name) {
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
func known(names []string) error {
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
