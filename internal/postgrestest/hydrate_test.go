package postgrestest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// unpacked writes a package tree with one library and a list of links.
func unpacked(t *testing.T, list string) string {
	t.Helper()
	directory := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(directory, "native", "lib"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "native", "lib", "libpq.so.5.18"), []byte("library"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "native", "pg-symlinks.json"), []byte(list), 0o600))
	return directory
}

func TestHydrateMakesLinksThatSurviveAMove(t *testing.T) {
	t.Parallel()
	directory := unpacked(t, `[
		{"source": "native/lib/libpq.so.5.18", "target": "native/lib/libpq.so.5"},
		{"source": "native/lib/libpq.so.5.18", "target": "native/lib/deep/libpq.so"}]`)
	require.NoError(t, hydrate(directory))
	moved := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.Rename(directory, moved))
	for _, link := range []string{"native/lib/libpq.so.5", "native/lib/deep/libpq.so"} {
		content, err := os.ReadFile(filepath.Join(moved, link))
		require.NoError(t, err)
		require.Equal(t, "library", string(content))
	}
}

func TestHydrateMayRunTwice(t *testing.T) {
	t.Parallel()
	directory := unpacked(t, `[{"source": "native/lib/libpq.so.5.18", "target": "native/lib/libpq.so.5"}]`)
	require.NoError(t, hydrate(directory))
	require.NoError(t, hydrate(directory))
}

func TestHydrateRefusesLinksOutOfThePackage(t *testing.T) {
	t.Parallel()
	for _, list := range []string{
		`[{"source": "native/lib/libpq.so.5.18", "target": "../outside"}]`,
		`[{"source": "/etc/passwd", "target": "native/lib/libpq.so.5"}]`,
	} {
		require.ErrorContains(t, hydrate(unpacked(t, list)), "leaves the package")
	}
}

func TestHydrateNeedsNoList(t *testing.T) {
	t.Parallel()
	require.NoError(t, hydrate(t.TempDir()))
}
