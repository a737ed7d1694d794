package lambdatest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// startWait is how long a busy machine may take to start the emulator.
const startWait = time.Minute

var errEnded = errors.New("the emulator ended")

//go:embed watchdog.sh
var watchdogScript string

// run starts the emulator and its watchdog. What it started before an error
// is left to Close.
func (f *Function) run(binary, invocations, runtimeAPI string) error {
	// The level is given because the emulator would take LOG_LEVEL for its own.
	f.emulator = command(binary, "--log-level", "info",
		"--runtime-interface-emulator-address", invocations, "--runtime-api-address", runtimeAPI, f.config.Bootstrap)
	f.emulator.Dir = filepath.Dir(f.config.Bootstrap)
	f.emulator.Env = f.environment()
	f.emulator.Stdout, f.emulator.Stderr = f.output.write, f.messages.write
	if err := f.emulator.Start(); err != nil {
		return err
	}
	go func() {
		_ = f.emulator.Wait() // that it ended is what counts
		close(f.exited)
	}()

	watchdog := command("/bin/sh", "-c", watchdogScript, "watchdog", strconv.Itoa(f.emulator.Process.Pid))

	// This end of the pipe closes when this process ends.
	if _, err := watchdog.StdinPipe(); err != nil {
		return err
	}
	if err := watchdog.Start(); err != nil {
		return err
	}

	f.watchdog = watchdog
	return nil
}

// command is a process that lives until Close, in a session of its own: out of
// reach of the terminal's interrupt, and of the SIGHUP and SIGCONT that a
// stopped process of the same session gets when its parent dies.
func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...) //nolint:noctx // no context's end is its end
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// environment is what Lambda sets, and what the configuration says.
func (f *Function) environment() []string {
	env := map[string]string{
		"AWS_ACCESS_KEY_ID":               "lambdatest",
		"AWS_SECRET_ACCESS_KEY":           "lambdatest",
		"AWS_SESSION_TOKEN":               "lambdatest",
		"AWS_REGION":                      "us-east-1",
		"AWS_DEFAULT_REGION":              "us-east-1",
		"AWS_LAMBDA_FUNCTION_NAME":        f.name(),
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(f.config.MemoryMB),
		"AWS_LAMBDA_FUNCTION_TIMEOUT":     strconv.Itoa(int(f.config.Timeout / time.Second)), // the emulator reads it
		"AWS_LAMBDA_LOG_FORMAT":           "JSON",
		"LANG":                            "en_US.UTF-8",
		"PATH":                            "/usr/local/bin:/usr/bin:/bin",
		"TZ":                              ":UTC",
	}
	maps.Copy(env, f.config.Env)

	entries := make([]string, 0, len(env))
	for key, value := range env {
		entries = append(entries, key+"="+value)
	}
	return entries
}

// name is the directory of the bootstrap, as in functions/ and dist/.
func (f *Function) name() string { return filepath.Base(filepath.Dir(f.config.Bootstrap)) }

// await returns when the emulator accepts connections there.
func (f *Function) await(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-f.exited:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("wait for the emulator at %s: %w", address, ctx.Err())
		case <-time.After(5 * time.Millisecond): // nothing tells that a port is open
		}
	}
}

// freeAddress finds a port below those that systems give to outgoing
// connections, because it is free only until somebody else takes it.
func freeAddress(ctx context.Context) (string, error) {
	var err error
	for range 100 {
		var listener net.Listener
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(20_000)))
		listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err == nil {
			return address, listener.Close()
		}
	}
	return "", fmt.Errorf("find a free port: %w", err)
}
