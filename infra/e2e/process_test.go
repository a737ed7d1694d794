package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatTheCommandLineSaysIsFoundHoweverItsLinesAreBroken(t *testing.T) {
	t.Parallel()

	require.True(t, said("Error: the tables\n  have version\n99 (in this run", "tables have version 99"))
	require.False(t, said("Error: the tables have version 9", "tables have version 99"))
}

func TestAFailedCommandTellsTheEndOfWhatItHasPrinted(t *testing.T) {
	t.Parallel()

	output, err := runToEnd(newCommand(t.Context(), "sh", "-c", "seq 10000; echo why >&2; exit 3"))
	require.ErrorContains(t, err, "sh: exit status 3\n...\n")
	require.ErrorContains(t, err, "10000\nwhy")
	require.NotContains(t, err.Error(), "\n1\n2\n")
	require.True(t, strings.HasPrefix(output, "1\n2\n"))
}

func TestACommandLeavesNothingBehind(t *testing.T) {
	t.Parallel()

	output, err := runToEnd(newCommand(t.Context(), "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"))
	require.NoError(t, err)
	requireEnds(t, strings.TrimSpace(output))
}

func TestAServerEndsWithAllThatItHasStarted(t *testing.T) {
	t.Parallel()

	s := startSleeper(t)
	child := awaitLine(t, s)
	s.stop()
	requireEnds(t, child)
}

func TestAServerEndsWithTheProgramThatHasStartedIt(t *testing.T) {
	t.Parallel()

	s := startSleeper(t)
	child := awaitLine(t, s)
	require.NoError(t, s.alive.Close()) // as the end of this program does
	<-s.gone
	requireEnds(t, child)
}

// startSleeper starts a server that has a child of its own, whose process id it
// writes.
func startSleeper(t *testing.T) *server {
	t.Helper()
	command := newCommand(t.Context(), "sh", "-c", "sleep 1000 & echo $!; wait")
	s, err := startServer(command, filepath.Join(t.TempDir(), "output"))
	require.NoError(t, err)
	t.Cleanup(s.stop)
	return s
}

func awaitLine(t *testing.T, s *server) string {
	t.Helper()
	for {
		if line, _, complete := strings.Cut(s.said(), "\n"); complete {
			return line
		}
	}
}

// requireEnds waits until a process is gone, or a zombie that nobody has asked
// for.
func requireEnds(t *testing.T, pid string) {
	t.Helper()
	for {
		state, err := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", pid).Output()
		require.NotErrorIs(t, err, exec.ErrNotFound)
		if err != nil || strings.HasPrefix(string(state), "Z") {
			return
		}
	}
}
