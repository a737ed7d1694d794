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
	pid, err := f.signal(syscall.SIGKILL)
	if err != nil {
		return err
	}
	return poll(func() (bool, error) {
		pids, err := f.pids()
		return !slices.Contains(pids, pid), err
	})
}

// Stop freezes the bootstrap with SIGSTOP and returns when it has stopped. Its
// time limit goes on.
func (f *Function) Stop() error {
	pid, err := f.signal(syscall.SIGSTOP)
	if err != nil {
		return err
	}
	return poll(func() (bool, error) { return stopped(pid) })
}

// Cont lets a stopped bootstrap go on.
func (f *Function) Cont() error {
	_, err := f.signal(syscall.SIGCONT)
	return err
}

// PeakRSS is the most memory in bytes that the present bootstrap has held.
// Elsewhere than on Linux the error is [errors.ErrUnsupported].
func (f *Function) PeakRSS() (int64, error) {
	pid, err := f.PID()
	if err != nil {
		return 0, err
	}
	return peakRSS(pid)
}

func (f *Function) signal(signal syscall.Signal) (int, error) {
	pid, err := f.PID()
	if err != nil {
		return 0, err
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return 0, fmt.Errorf("send %v to the bootstrap: %w", signal, err)
	}
	return pid, nil
}

// poll returns when a signal has had its effect. The system tells only the
// parent of that, which is the emulator.
func poll(done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}

		<-time.After(time.Millisecond)
	}
}

func (f *Function) pids() ([]int, error) {
	return children(f.emulator.Process.Pid, filepath.Base(f.config.Bootstrap))
}
