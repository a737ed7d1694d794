package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"outboxrelay/internal/daemontest"
)

const (
	portAttempts = 20
	// pollInterval is the pause between two questions whether the server is ready, which takes 50 ms or more.
	pollInterval = 10 * time.Millisecond
	// logTail is how much of the server's log an error shows, in bytes.
	logTail = 2000
)

var errPortTaken = errors.New("port is taken")

// findPort starts the server on a port that was free a moment ago, and on another one if somebody was faster.
func (s *Server) findPort(ctx context.Context) error {
	for range portAttempts {
		s.port = daemontest.FreePort(ctx)
		if err := s.launch(ctx); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return fmt.Errorf("no free port in %d attempts: %w", portAttempts, errPortTaken)
}

// launchAgain starts the server on the port it had, and waits for that if somebody else has it for the moment.
func (s *Server) launchAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	retry := time.NewTicker(10 * pollInterval)
	defer retry.Stop()
	for {
		err := s.launch(ctx)
		if !errors.Is(err, errPortTaken) {
			return err
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return err
		}
	}
}

// launch starts the server on its port and waits until it accepts connections. A failed start leaves no process and
// keeps the directory. The error is errPortTaken if that is all there is.
func (s *Server) launch(ctx context.Context) error {
	log, err := s.openLog()
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	started, err := daemontest.Start(s.cluster.account, s.cluster.directory, syscall.SIGQUIT, log,
		s.program(), "-D", s.cluster.data(), "-p", strconv.Itoa(s.port))
	if err != nil {
		return err
	}
	if err := s.awaitReady(ctx, started); err != nil {
		return errors.Join(s.explain(err), started.Release())
	}
	s.process = started
	return nil
}

// openLog begins a new log for each start, so that errors are about that one.
func (s *Server) openLog() (*os.File, error) {
	if err := os.Remove(s.cluster.logFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(s.cluster.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}

func (s *Server) awaitReady(ctx context.Context, started *daemontest.Process) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		err := s.execute(ctx, superuser, "")
		if err == nil {
			return nil
		}
		select {
		case <-started.Gone():
			return errors.New("the server ended while it started")
		case <-ctx.Done():
			return fmt.Errorf("the server does not get ready: %w", err)
		case <-poll.C:
		}
	}
}

// explain adds the end of the server's log to an error, and recognises the one failure that another try cures.
func (s *Server) explain(cause error) error {
	log, err := os.ReadFile(s.cluster.logFile())
	if err != nil {
		return cause
	}
	if bytes.Contains(log, []byte("could not bind")) {
		return errPortTaken
	}
	return fmt.Errorf("%w: %s", cause, log[max(0, len(log)-logTail):])
}
