package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitInterrupted = 130 // 128 and SIGINT, as a shell has it
)

// limit is how long all of it may take, on a machine that is busy with other
// things and has nothing in its caches.
const limit = 15 * time.Minute

// run is the whole program; it returns the exit code. Whoever interrupts it a
// second time ends it at once: the watchdogs then end what it has started.
func run(stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	say := clock(stdout)
	err := perform(limited, say)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "e2e: interrupted; everything it started is stopped")
		return exitInterrupted
	case limited.Err() != nil:
		err = errors.Join(context.Cause(limited), err)
	}
	if err != nil {
		fmt.Fprintln(stderr, "e2e:", err)
		return exitFailed
	}
	fmt.Fprintf(stdout, "e2e: deployed, %d events delivered by schedule, destroyed\n", eventCount)
	return exitDone
}

// say tells of something that begins, or has been seen.
type say func(format string, args ...any)

func clock(out io.Writer) say {
	began := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(out, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
}

// perform sets the stage, plays, and ends all that was started. If the play
// fails, it shows what the functions have written.
func perform(ctx context.Context, say say) (err error) {
	stage, err := setStage(ctx, say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.close()) }()
	if err := stage.play(ctx); err != nil {
		if ctx.Err() == nil {
			say("what the functions have written:\n%s", stage.logs(ctx))
		}
		return err
	}
	return nil
}
