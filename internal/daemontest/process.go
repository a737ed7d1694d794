package daemontest

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

//go:embed watchdog.sh
var watchdogScript string

// Process is a server under its watchdog.
type Process struct {
	watchdog *exec.Cmd
	// orders is the watchdog's standard input. Its closing, also by the end of this process, ends the server.
	orders *os.File
	gone   chan struct{}
}

// Start starts a server's command under a watchdog, its output appended to a log file. When this process ends, the
// watchdog sends the last signal, by which the server has to stop at once, and removes the directory.
func Start(as Account, directory string, last syscall.Signal, log *os.File, command ...string) (*Process, error) {
	ordersRead, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = ordersRead.Close() }()
	alive, aliveWrite, err := os.Pipe()
	if err != nil {
		_ = orders.Close()
		return nil, err
	}
	defer func() { _ = aliveWrite.Close() }()

	arguments := append([]string{"-c", watchdogScript, "daemontest-watchdog", directory, strconv.Itoa(int(last))}, command...)
	watchdog := exec.Command("/bin/sh", arguments...) //nolint:noctx // it lives as long as the server, not as a call
	watchdog.Dir = "/"
	watchdog.Env = Environment()
	watchdog.SysProcAttr = as.Attributes()
	watchdog.Stdin, watchdog.ExtraFiles = ordersRead, []*os.File{aliveWrite}
	// Never this process's own output: `go test` waits until everybody has closed that.
	watchdog.Stdout, watchdog.Stderr = log, log
	if err := watchdog.Start(); err != nil {
		_, _ = orders.Close(), alive.Close()
		return nil, err
	}
	p := &Process{watchdog: watchdog, orders: orders, gone: make(chan struct{})}
	go p.watch(alive)
	return p, nil
}

// Gone is closed when the server and all its children are gone.
func (p *Process) Gone() <-chan struct{} { return p.gone }

func (p *Process) watch(alive *os.File) {
	_, _ = io.Copy(io.Discard, alive)
	_ = alive.Close()
	close(p.gone)
}

// Stop sends the server a signal (TERM, INT, QUIT, KILL) that ends it, and waits until it is gone. The watchdog stays to look after the
// directory.
func (p *Process) Stop(signal string) error {
	if _, err := fmt.Fprintln(p.orders, signal); err != nil {
		return err
	}
	<-p.gone
	return nil
}

// Release ends the watchdog of a stopped server and leaves the directory.
func (p *Process) Release() error {
	if _, err := fmt.Fprintln(p.orders, "keep"); err != nil {
		return err
	}
	p.End()
	return nil
}

// End does what the end of this process would do: the server stops at once and its directory is removed.
func (p *Process) End() {
	_ = p.orders.Close()
	// The exit status is the script's last test, which says nothing.
	_ = p.watchdog.Wait()
	<-p.gone
}

// Environment leaves out everything that could change how the server behaves: PG* variables, the user's locale and time zone.
func Environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}
