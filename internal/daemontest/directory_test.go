package daemontest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTraversableSeesAClosedParent(t *testing.T) {
	t.Parallel()
	closed := t.TempDir()
	inner := filepath.Join(closed, "inner")
	require.NoError(t, os.Mkdir(inner, 0o755))
	require.NoError(t, os.Chmod(closed, 0o700))
	require.ErrorIs(t, Traversable(inner), ErrUnreachable)
	require.NoError(t, Traversable("/usr"))
}
