package lambdatest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Config describes a function.
type Config struct {
	// Bootstrap is the path of the binary, as [Build] returns it. The name of
	// its directory is the function's.
	Bootstrap string

	// Env is the function's environment. Nothing of this process's own is
	// added, only what Lambda sets, which an entry of the same name replaces.
	Env map[string]string

	// Timeout is the function's time limit in whole seconds. Zero: 30 s.
	Timeout time.Duration

	// MemoryMB is what the function is told of its memory. Zero: 256.
	MemoryMB int

	// Output gets the function's lines too, if set: standard output and
	// standard error in one, as in its log group.
	Output io.Writer
}

func (c *Config) setDefaults() {
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.MemoryMB == 0 {
		c.MemoryMB = 256
	}
}

func (c *Config) validate() error {
	if c.Timeout < time.Second || c.Timeout%time.Second != 0 {
		return fmt.Errorf("the time limit %v is not in whole seconds", c.Timeout)
	}

	_, err := os.Stat(c.Bootstrap)
	return err
}

// Function is a function in a sandbox of its own. Its methods may be called
// from several goroutines.
type Function struct {
	config   Config
	url      string
	client   *http.Client
	emulator *exec.Cmd
	watchdog *exec.Cmd
	exited   chan struct{} // closed when the emulator has ended
	slot     chan struct{} // holds the one invocation
	close    sync.Once

	output   *output // the function's lines, and Lambda's among them
	messages *output // the emulator's
	mu       sync.Mutex
	logs     []string
	reports  []string
	emulated []string
}

// Start is [Open] for a test: it closes the function at the test's end, and
// shows its log when the test has failed.
func Start(t testing.TB, config Config) *Function {
	t.Helper()

	f, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		f.Close()
		if t.Failed() {
			t.Logf("log of %s:\n%s\nits emulator's:\n%s", f.name(),
				strings.Join(f.Logs(), "\n"), strings.Join(f.EmulatorLogs(), "\n"))
		}
	})
	return f
}

// Open starts the emulator for a function and returns when it takes
// invocations. Only Close ends it: the context is for the start.
func Open(ctx context.Context, config Config) (*Function, error) {
	config.setDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("start function: %w", err)
	}

	binary, err := emulatorBinary(ctx)
	if err != nil {
		return nil, fmt.Errorf("start function: %w", err)
	}

	// Another process may take a port between the look and the use.
	for try := 1; ; try++ {
		f, err := open(ctx, binary, config)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, errEnded) || try == 3 {
			return nil, fmt.Errorf("start function: %w", err)
		}
	}
}

func open(ctx context.Context, binary string, config Config) (*Function, error) {
	invocations, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}

	runtimeAPI, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}

	f := &Function{
		config: config,
		url:    "http://" + invocations + "/2015-03-31/functions/function/invocations",
		client: &http.Client{Transport: &http.Transport{}}, // not through the environment's proxy
		exited: make(chan struct{}),
		slot:   make(chan struct{}, 1),
	}
	if f.output, err = newOutput(f.takeOutput); err != nil {
		return nil, err
	}
	if f.messages, err = newOutput(f.takeMessage); err != nil {
		f.output.close()
		return nil, err
	}

	err = f.run(binary, invocations, runtimeAPI)
	for _, address := range []string{runtimeAPI, invocations} {
		if err == nil {
			err = f.await(ctx, address)
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%w\n%s", err, strings.Join(f.EmulatorLogs(), "\n"))
	}
	return f, nil
}

// Close ends the function and all of its processes. Its logs stay.
func (f *Function) Close() { f.close.Do(f.end) }

func (f *Function) end() {
	if f.emulator.Process != nil {
		// A stopped emulator starts no bootstrap after those that are seen.
		_ = f.emulator.Process.Signal(syscall.SIGSTOP)
		if pids, err := f.pids(); err == nil {
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}

		_ = f.emulator.Process.Kill()
		<-f.exited
	}
	if f.watchdog != nil {
		_ = f.watchdog.Process.Kill()
		_ = f.watchdog.Wait()
	}

	f.client.CloseIdleConnections()
	f.output.close()
	f.messages.close()
}
