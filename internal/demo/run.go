package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The demo's exit codes.
const (
	exitProved      = 0
	exitFailed      = 1
	exitInterrupted = 130 // 128 and SIGINT, as a shell has it
)

// run is the whole demo; it returns the exit code. Whoever interrupts it a
// second time ends it at once: the watchdogs then end what it started.
func run(stdout, stderr io.Writer, acts []act) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	outcome, err := perform(ctx, stdout, acts)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "demo: interrupted; everything it started is stopped")
		return exitInterrupted
	case err != nil:
		fmt.Fprintln(stderr, "demo:", err)
		return exitFailed
	case outcome.proved():
		return exitProved
	default:
		return exitFailed
	}
}

// perform sets the stage, plays, and prints what came of it.
func perform(ctx context.Context, out io.Writer, acts []act) (_ verdict, err error) {
	progress := newProgress(out)
	defer progress.end()
	stage, err := setStage(ctx, progress.say)
	if err != nil {
		return verdict{}, err
	}
	defer func() { err = errors.Join(err, stage.close()) }()
	play := newPlay(stage, progress, acts)
	if err := play.run(ctx); err != nil {
		return verdict{}, err
	}
	outcome, err := play.verify(ctx)
	if err != nil {
		return verdict{}, err
	}
	progress.end()
	fmt.Fprint(out, outcome.table())
	return outcome, nil
}
