package postgrestest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// helperKey makes a run of the test binary the process that TestTheServerDiesWithItsProcess kills.
const helperKey = "POSTGRESTEST_HELPER"

func TestTheServerDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	for _, halted := range []string{"running", "halted"} {
		t.Run(halted, func(t *testing.T) {
			t.Parallel()
			helper, pid, directory := startHelper(t, halted)
			require.NoError(t, helper.Process.Signal(syscall.SIGKILL))
			require.Error(t, helper.Wait())
			require.Eventually(t, func() bool {
				_, err := os.Stat(directory)
				return errors.Is(err, os.ErrNotExist) && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
			}, 30*time.Second, 10*time.Millisecond)
		})
	}
}

// startHelper starts a process with a server of its own and returns the server's process id and directory.
func startHelper(t *testing.T, state string) (helper *exec.Cmd, pid int, directory string) {
	t.Helper()
	helper = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperProcess$")
	helper.Env = append(os.Environ(), helperKey+"="+state)
	helper.Stderr = os.Stderr
	stdin, err := helper.StdinPipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = stdin.Close() })
	output, err := helper.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, helper.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscan(line, &pid, &directory)
	require.NoError(t, err, line)
	return helper, pid, directory
}

// TestHelperProcess is no test: it starts a server, reports it and waits to be killed.
func TestHelperProcess(t *testing.T) {
	t.Parallel()
	state := os.Getenv(helperKey)
	if state == "" {
		return // the other tests run it, in a process of its own
	}
	server, err := Start(t.Context(), Options{})
	require.NoError(t, err)
	pid := postmaster(t, server)
	if state == "halted" {
		require.NoError(t, server.Halt(Fast))
	}
	fmt.Println(pid, server.cluster.directory)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func postmaster(t *testing.T, server *Server) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(server.cluster.data(), "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(t, err)
	return pid
}

func TestTheServerIsNotRunByRoot(t *testing.T) {
	t.Parallel()
	server, err := Shared()
	require.NoError(t, err)
	info, err := os.Stat(server.cluster.data())
	require.NoError(t, err)
	status, ok := info.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	require.NotZero(t, status.Uid)
}
