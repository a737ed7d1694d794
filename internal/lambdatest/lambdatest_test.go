package lambdatest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type event map[string]any

// TestMain is also the process whose death TestEndsWithItsParent watches.
func TestMain(m *testing.M) {
	if target := os.Getenv("LAMBDATEST_ORPHAN"); target != "" {
		if err := leaveOrphan(target); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}

	os.Exit(m.Run())
}

// leaveOrphan prints the emulator's address and keeps its function busy.
func leaveOrphan(target string) error {
	ctx := context.Background()

	bootstrap, err := BuildPackage(ctx, "./internal/lambdatest/echo")
	if err != nil {
		return err
	}

	f, err := Open(ctx, Config{Bootstrap: bootstrap, Timeout: 15 * time.Minute})
	if err != nil {
		return err
	}

	address, err := url.Parse(f.url)
	if err != nil {
		return err
	}

	fmt.Println(address.Host)

	response, err := f.Invoke(ctx, event{"call": target})
	return fmt.Errorf("the invocation came to an end: %+v %w", response, err)
}

func TestInvoke(t *testing.T) {
	t.Parallel()

	t.Run("Answers", func(t *testing.T) {
		t.Parallel()
		response, err := start(t, Config{}).Invoke(t.Context(), event{"hello": "world"})
		require.NoError(t, err)
		require.JSONEq(t, `{"hello":"world"}`, string(response.Payload))
		require.Empty(t, response.ErrorType)
	})

	t.Run("NamesTheTypeOfAnError", func(t *testing.T) {
		t.Parallel()
		f := start(t, Config{})
		response, err := f.Invoke(t.Context(), event{"fail": "no luck"})
		require.NoError(t, err)
		require.Equal(t, Response{ErrorType: "EchoError", ErrorMessage: "no luck"}, response)
		pid, err := f.PID()
		require.NoError(t, err)

		requireAnswer(t, f)
		again, err := f.PID()
		require.NoError(t, err)
		require.Equal(t, pid, again, "an error costs the warm sandbox")
	})

	t.Run("SeesAPanic", func(t *testing.T) {
		t.Parallel()
		f := start(t, Config{})
		response, err := f.Invoke(t.Context(), event{"panic": true})
		require.NoError(t, err)
		require.Equal(t, Response{ErrorType: "string", ErrorMessage: "as asked", Crashed: true}, response)

		requireAnswer(t, f)
	})

	t.Run("KillsAtTheTimeLimit", func(t *testing.T) {
		t.Parallel()
		f := start(t, Config{Timeout: 2 * time.Second})
		requireAnswer(t, f)
		response, err := f.Invoke(t.Context(), event{"sleep": true})
		require.NoError(t, err)
		require.True(t, response.TimedOut)
		require.Equal(t, "Sandbox.Timedout", response.ErrorType)
		_, err = f.PID()
		require.ErrorIs(t, err, ErrNotRunning)

		requireAnswer(t, f)
	})

	t.Run("SeesAnExit", func(t *testing.T) {
		t.Parallel()
		f := start(t, Config{})
		response, err := f.Invoke(t.Context(), event{"exit": true})
		require.NoError(t, err)
		require.True(t, response.Crashed)
		require.Equal(t, "Runtime.ExitError", response.ErrorType)
		require.Contains(t, response.ErrorMessage, "exit status 7")

		requireAnswer(t, f)
	})

	t.Run("SeesAnExitAtTheStart", func(t *testing.T) {
		t.Parallel()
		f := start(t, Config{Env: map[string]string{"EXIT_AT_START": "yes"}})
		for range 2 { // the emulator's answers differ
			response, err := f.Invoke(t.Context(), event{})
			require.NoError(t, err)
			require.True(t, response.Crashed)
			require.Equal(t, "Runtime.ExitError", response.ErrorType)
		}
	})

	t.Run("QueuesInvocations", func(t *testing.T) {
		t.Parallel()
		f := start(t, Config{})
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				_, err := f.Invoke(t.Context(), event{})
				if err != nil {
					t.Error(err)
				}
			})
		}

		group.Wait()
	})

	t.Run("GoesOnWithoutItsCaller", func(t *testing.T) {
		t.Parallel()
		target := newTarget(t)
		f := start(t, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-target.called
			cancel()
		}()

		_, err := f.Invoke(ctx, event{"call": target.URL, "say": "done"})
		require.ErrorIs(t, err, context.Canceled)
		_, err = f.Invoke(ctx, event{})
		require.ErrorIs(t, err, context.Canceled, "waits for the one before")

		close(target.answer)
		requireAnswer(t, f)
	})
}

func TestFunction(t *testing.T) {
	t.Parallel()

	t.Run("HasNoEnvironmentButItsOwn", func(t *testing.T) {
		t.Parallel()

		// The emulator reads LOG_LEVEL too, and ends on a level like this one.
		f := start(t, Config{MemoryMB: 512, Env: map[string]string{"LOG_LEVEL": "loud", "AWS_REGION": "eu-west-1"}})
		response, err := f.Invoke(t.Context(), event{"env": true})
		require.NoError(t, err)

		var env map[string]string
		require.NoError(t, json.Unmarshal(response.Payload, &env))
		require.Equal(t, "loud", env["LOG_LEVEL"])
		require.Equal(t, "eu-west-1", env["AWS_REGION"])
		require.Equal(t, "echo", env["AWS_LAMBDA_FUNCTION_NAME"])
		require.Equal(t, "512", env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"])
		require.Equal(t, "JSON", env["AWS_LAMBDA_LOG_FORMAT"])
		for key := range env {
			switch {
			case key == "LOG_LEVEL", key == "LANG", key == "PATH", key == "TZ":
			case strings.HasPrefix(key, "AWS_"), strings.HasPrefix(key, "_"):
			default:
				require.Fail(t, "not Lambda's and not given", key)
			}
		}
	})

	t.Run("SeparatesItsLogFromTheEmulators", func(t *testing.T) {
		t.Parallel()

		var copied strings.Builder
		f := start(t, Config{Output: &copied})
		_, err := f.Invoke(t.Context(), event{"say": "hello"})
		require.NoError(t, err)

		require.Equal(t, []string{"hello", "hello"}, f.Logs(), "standard output and standard error")
		require.Len(t, f.Reports(), 3)
		require.Contains(t, strings.Join(f.EmulatorLogs(), "\n"), "INVOKE START")

		f.Close()
		require.Equal(t, []string{"hello", "hello"}, f.Logs(), "kept")
		require.Equal(t, "hello\nhello\n", copied.String())
	})

	t.Run("IsKilledAndStartedAnew", func(t *testing.T) {
		t.Parallel()
		target := newTarget(t)
		f := start(t, Config{})
		require.ErrorIs(t, f.Kill(), ErrNotRunning)
		killed := make(chan error, 1)
		go func() {
			<-target.called
			killed <- f.Kill()
		}()

		response, err := f.Invoke(t.Context(), event{"call": target.URL})
		require.NoError(t, err)
		require.NoError(t, <-killed)
		require.True(t, response.Crashed)
		require.Contains(t, response.ErrorMessage, "killed")

		requireAnswer(t, f)

		require.NoError(t, f.Kill())
		response, err = f.Invoke(t.Context(), event{})
		require.NoError(t, err)
		require.True(t, response.Crashed, "killed between two invocations")

		requireAnswer(t, f)
	})

	t.Run("StopsUntilItsTimeIsOver", func(t *testing.T) {
		t.Parallel()
		target := newTarget(t)
		f := start(t, Config{Timeout: 2 * time.Second})
		requireAnswer(t, f)
		stopped := make(chan error, 1)
		go func() {
			<-target.called
			stopped <- f.Stop()
			close(target.answer)
		}()

		response, err := f.Invoke(t.Context(), event{"call": target.URL})
		require.NoError(t, err)
		require.NoError(t, <-stopped)
		require.True(t, response.TimedOut, "it was answered, but could not go on")
	})

	t.Run("ContinuesAfterAStop", func(t *testing.T) {
		t.Parallel()
		target := newTarget(t)
		f := start(t, Config{})
		continued := make(chan error, 2)
		go func() {
			<-target.called
			continued <- f.Stop()
			close(target.answer)
			continued <- f.Cont()
		}()

		response, err := f.Invoke(t.Context(), event{"call": target.URL})
		require.NoError(t, err)
		require.NoError(t, <-continued)
		require.NoError(t, <-continued)
		require.Empty(t, response.ErrorType)
	})

	t.Run("RunsBesideAnother", func(t *testing.T) {
		t.Parallel()
		first, second := newTarget(t), newTarget(t)
		f, g := start(t, Config{}), start(t, Config{})

		// Each is answered only once the other one has called.
		go func() {
			<-first.called
			<-second.called
			close(first.answer)
			close(second.answer)
		}()

		var group sync.WaitGroup
		group.Go(func() {
			if _, err := f.Invoke(t.Context(), event{"call": first.URL}); err != nil {
				t.Error(err)
			}
		})

		response, err := g.Invoke(t.Context(), event{"call": second.URL})
		require.NoError(t, err)
		require.Empty(t, response.ErrorType)
		group.Wait()
	})

	t.Run("TellsItsPeakOfMemory", func(t *testing.T) {
		t.Parallel()
		f := start(t, Config{})
		requireAnswer(t, f)
		peak, err := f.PeakRSS()
		if err != nil {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			t.Skip(err)
		}

		require.Greater(t, peak, int64(1<<20))
		require.Less(t, peak, int64(1<<30))
	})

	t.Run("WantsWholeSeconds", func(t *testing.T) {
		t.Parallel()
		_, err := Open(t.Context(), Config{Timeout: 1500 * time.Millisecond})
		require.ErrorContains(t, err, "the time limit 1.5s is not in whole seconds")
	})
}

func TestEnds(t *testing.T) {
	t.Parallel()

	t.Run("WithClose", func(t *testing.T) {
		t.Parallel()
		target := newTarget(t)
		f := start(t, Config{})
		go func() {
			<-target.called
			f.Close()
		}()

		_, err := f.Invoke(t.Context(), event{"call": target.URL})
		require.Error(t, err)
		<-target.left
	})

	t.Run("WithItsParent", func(t *testing.T) {
		t.Parallel()
		target := newTarget(t)
		parent := exec.CommandContext(t.Context(), os.Args[0])
		parent.Env = append(os.Environ(), "LAMBDATEST_ORPHAN="+target.URL)
		parent.Stderr = os.Stderr
		stdout, err := parent.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, parent.Start())
		address, err := bufio.NewReader(stdout).ReadString('\n')
		require.NoError(t, err)
		emulator, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimSpace(address))
		require.NoError(t, err)
		t.Cleanup(func() { _ = emulator.Close() })

		<-target.called
		require.NoError(t, parent.Process.Kill())
		_ = parent.Wait()

		<-target.left // the bootstrap is gone

		_, err = emulator.Read(make([]byte, 1))
		require.Error(t, err, "the emulator is gone")
	})
}

// target is a server that the function calls: it tells of the call, answers
// when it is allowed to and tells when the caller is gone.
type target struct {
	*httptest.Server

	called, answer, left chan struct{}
}

func newTarget(t *testing.T) *target {
	t.Helper()

	target := &target{called: make(chan struct{}), answer: make(chan struct{}), left: make(chan struct{})}
	target.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(target.called)
		select {
		case <-target.answer:
		case <-r.Context().Done():
			close(target.left)
		}
	}))
	t.Cleanup(target.Close)
	return target
}

func start(t *testing.T, config Config) *Function {
	t.Helper()

	bootstrap, err := BuildPackage(t.Context(), "./internal/lambdatest/echo")
	require.NoError(t, err)

	config.Bootstrap = bootstrap
	return Start(t, config)
}

func requireAnswer(t *testing.T, f *Function) {
	t.Helper()

	response, err := f.Invoke(t.Context(), event{})
	require.NoError(t, err)
	require.JSONEq(t, "{}", string(response.Payload))
}
