package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed watchdog.sh
var watchdogScript string

const (
	// graceful is how long a command that is to end may take to do so by itself.
	graceful = 10 * time.Second
	// logTail is how much of a program's output an error shows, in bytes.
	logTail = 4000
)

// newCommand is a command in a process group of its own: an interrupt from the
// terminal reaches this program alone, which then ends the whole group, also
// what the command has started.
func newCommand(ctx context.Context, name string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, name, args...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = graceful
	return command
}

// runToEnd runs a command to its end and returns what it printed. The error has
// the end of that.
func runToEnd(command *exec.Cmd) (string, error) {
	output, err := command.CombinedOutput()
	if command.Process != nil {
		killGroup(command.Process.Pid) // what it has left behind
	}
	if err != nil {
		return string(output), fmt.Errorf("%s: %w\n%s", filepath.Base(command.Path), err, tail(string(output)))
	}
	return string(output), nil
}

func killGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// tail is the end of a text, from the beginning of a line.
func tail(text string) string {
	if len(text) <= logTail {
		return text
	}
	text = text[len(text)-logTail:]
	_, rest, _ := strings.Cut(text, "\n")
	return "...\n" + rest
}

// server is a program that runs until it is stopped, or until this one ends.
type server struct {
	command  *exec.Cmd
	watchdog *exec.Cmd
	output   string        // the file it writes to
	gone     chan struct{} // closed when it has ended
}

// startServer starts a program that writes to a file. A watchdog ends it with
// all that it has started when this program ends first, however that goes.
func startServer(command *exec.Cmd, output string) (*server, error) {
	file, err := os.Create(output)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	command.Stdout, command.Stderr = file, file
	if err := command.Start(); err != nil {
		return nil, err
	}
	s := &server{command: command, output: output, gone: make(chan struct{})}
	go func() {
		_ = command.Wait() // that it ended is what counts
		close(s.gone)
	}()
	return s, s.watch()
}

func (s *server) watch() error {
	s.watchdog = exec.Command("/bin/sh", "-c", watchdogScript, "e2e-watchdog", strconv.Itoa(s.command.Process.Pid)) //nolint:noctx // it lives as long as the server
	s.watchdog.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// This end of the pipe closes when this program ends.
	if _, err := s.watchdog.StdinPipe(); err != nil {
		return err
	}
	return s.watchdog.Start()
}

// stop ends the server and all that it has started.
func (s *server) stop() {
	killGroup(s.command.Process.Pid)
	<-s.gone
	if s.watchdog.Process != nil {
		killGroup(s.watchdog.Process.Pid)
		_ = s.watchdog.Wait()
	}
}

// said is the end of what it has written.
func (s *server) said() string {
	written, err := os.ReadFile(s.output)
	if err != nil {
		return err.Error()
	}
	return tail(string(written))
}
