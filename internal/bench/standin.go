package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"outboxrelay/internal/eventbridgetest"
)

// standInCommand is the argument with which this program is the stand-in.
const standInCommand = "stand-in"

// busLatency is how long the stand-in takes to answer.
const busLatency = 20 * time.Millisecond

// serveStandIn is EventBridge until its standard input ends. It prints its URL
// first, and at the end how many events it accepted, and how many of them once.
func serveStandIn(ctx context.Context) error {
	server, err := eventbridgetest.Start( //nolint:contextcheck // it lives until Close
		eventbridgetest.WithLatency(busLatency), eventbridgetest.WithRecording(eventbridgetest.RecordIDs))
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Println(server.URL())
	context.AfterFunc(ctx, func() { _ = os.Stdin.Close() })
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println(server.Stats().Accepted, len(server.AcceptedIDs()))
	return nil
}

// standIn is the stand-in in a process of its own.
type standIn struct {
	url     string
	process *exec.Cmd
	stdin   io.Closer
	stdout  *bufio.Reader
}

func startStandIn(ctx context.Context) (*standIn, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.CommandContext(ctx, program, standInCommand)
	process.Stderr = os.Stderr
	stdin, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	s := &standIn{process: process, stdin: stdin, stdout: bufio.NewReader(stdout)}
	line, err := s.stdout.ReadString('\n')
	s.url = strings.TrimSpace(line)
	return s, err
}

// kill ends the stand-in if it still runs.
func (s *standIn) kill() {
	if s.process.ProcessState == nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
	}
}

// stop ends the stand-in and returns how many events it accepted, and how many
// different ones.
func (s *standIn) stop() (accepted, distinct int, err error) {
	err = s.stdin.Close()
	_, scanErr := fmt.Fscan(s.stdout, &accepted, &distinct)
	return accepted, distinct, errors.Join(err, scanErr, s.process.Wait())
}
