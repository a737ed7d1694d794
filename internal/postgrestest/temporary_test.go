package postgrestest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/daemontest"
)

func TestATemporaryDirectoryTooLongForASocketIsLeft(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), strings.Repeat("long", 20)))
	require.Equal(t, "/tmp", daemontest.TemporaryDirectory())
	require.Equal(t, "/tmp", dataDirectory(false))
}

func TestDurableDataNeverLieInMemory(t *testing.T) {
	t.Setenv("TMPDIR", "")
	require.Equal(t, "/tmp", dataDirectory(true))
}

func TestAMissingFileSystemHasNothingFree(t *testing.T) {
	t.Parallel()
	require.Zero(t, free("/no/such/directory"))
	require.NotZero(t, free("/"))
}
