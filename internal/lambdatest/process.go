package lambdatest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// ErrNotRunning says that there is no bootstrap process: none was invoked yet,
// or it ended and the next invocation starts another.
var ErrNotRunning = errors.New("the bootstrap is not running")

// PID is the process id of the bootstrap. The error is [ErrNotRunning] when
// there is none.
func (f *Function) PID() (int, error) {
	pids, err := f.pids()
	if err != nil {
		return 0, err
	}

	if len(pids) == 0 {
		return 0, ErrNotRunning
	}

	return pids[0], nil
}

// Kill ends the bootstrap with SIGKILL and returns when it is gone. The
// invocation under way crashes, or else the next one does; the one after that
// starts another bootstrap.
func (f *Function) Kill() error {
	pid, err := f.PID()
	if err != nil {
		return err
	}

	if err := kill(pid, syscall.SIGKILL); err != nil {
		return err
	}

	for {
		pids, err := f.pids()
		if err != nil || !slices.Contains(pids, pid) {
			return err
		}

		<-time.After(time.Millisecond) // nothing tells of the end of another's child
	}
}

// Stop freezes the bootstrap with SIGSTOP. The time limit goes on.
func (f *Function) Stop() error { return f.signal(syscall.SIGSTOP) }

// Cont lets a stopped bootstrap go on.
func (f *Function) Cont() error { return f.signal(syscall.SIGCONT) }

// PeakRSS is the most memory in bytes that the present bootstrap has held.
// Elsewhere than on Linux the error is [errors.ErrUnsupported].
func (f *Function) PeakRSS() (int64, error) {
	pid, err := f.PID()
	if err != nil {
		return 0, err
	}

	return peakRSS(pid)
}

func (f *Function) signal(signal syscall.Signal) error {
	pid, err := f.PID()
	if err != nil {
		return err
	}

	return kill(pid, signal)
}

func kill(pid int, signal syscall.Signal) error {
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("send %v to the bootstrap: %w", signal, err)
	}

	return nil
}

func (f *Function) pids() ([]int, error) {
	return children(f.emulator.Process.Pid, filepath.Base(f.config.Bootstrap))
}
