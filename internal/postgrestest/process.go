package postgrestest

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
)

//go:embed watchdog.sh
var watchdogScript string

// process is a server under its watchdog.
type process struct {
	watchdog *exec.Cmd
	// orders is the watchdog's standard input. Its closing, also by the end of this process, ends the server.
	orders *os.File
	// gone is closed when the server and all its children are gone.
	gone chan struct{}
}

// startProcess starts a server's command under a watchdog, its output appended to a log file. The directory is what the
// watchdog removes when this process ends first.
func startProcess(as account, directory string, log *os.File, command ...string) (*process, error) {
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

	arguments := append([]string{"-c", watchdogScript, "postgrestest-watchdog", directory}, command...)
	watchdog := exec.Command("/bin/sh", arguments...) //nolint:noctx // it lives as long as the server, not as a call
	watchdog.Dir = "/"
	watchdog.Env = serverEnvironment()
	watchdog.SysProcAttr = as.attributes()
	watchdog.Stdin, watchdog.ExtraFiles = ordersRead, []*os.File{aliveWrite}
	// Never this process's own output: `go test` waits until everybody has closed that.
	watchdog.Stdout, watchdog.Stderr = log, log
	if err := watchdog.Start(); err != nil {
		_, _ = orders.Close(), alive.Close()
		return nil, err
	}
	p := &process{watchdog: watchdog, orders: orders, gone: make(chan struct{})}
	go p.watch(alive)
	return p, nil
}

func (p *process) watch(alive *os.File) {
	_, _ = io.Copy(io.Discard, alive)
	_ = alive.Close()
	close(p.gone)
}

// stop signals the server, see Shutdown, and waits until it is gone. The watchdog stays to look after the directory.
func (p *process) stop(signal string) error {
	if _, err := fmt.Fprintln(p.orders, signal); err != nil {
		return err
	}
	<-p.gone
	return nil
}

// release ends the watchdog of a stopped server and leaves the directory.
func (p *process) release() error {
	if _, err := fmt.Fprintln(p.orders, "keep"); err != nil {
		return err
	}
	p.end()
	return nil
}

// end does what the end of this process would do: the server stops at once and its directory is removed.
func (p *process) end() {
	_ = p.orders.Close()
	// The exit status is the script's last test, which says nothing.
	_ = p.watchdog.Wait()
	<-p.gone
}

// serverEnvironment leaves out everything that could change how the server behaves: PG* variables, the user's locale and time zone.
func serverEnvironment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}
