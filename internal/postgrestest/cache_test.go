package postgrestest

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

func TestCacheIsFilledOnceByManyAtOnce(t *testing.T) {
	t.Parallel()
	shared := cache{t.TempDir()}
	var fills atomic.Int32
	var group errgroup.Group
	for range 8 {
		group.Go(func() error {
			entry, err := shared.get("entry", func(target string) error {
				fills.Add(1)
				return os.Mkdir(target, 0o700)
			})
			if err != nil {
				return err
			}
			_, err = os.Stat(entry)
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 1, fills.Load())
}

func TestCacheForgetsAFailedFill(t *testing.T) {
	t.Parallel()
	shared, offline := cache{t.TempDir()}, errors.New("offline")
	_, err := shared.get("entry", func(target string) error {
		require.NoError(t, os.Mkdir(target, 0o700))
		return offline
	})
	require.ErrorIs(t, err, offline)
	require.NoDirExists(t, filepath.Join(shared.directory, "entry"))

	entry, err := shared.get("entry", func(target string) error { return os.Mkdir(target, 0o700) })
	require.NoError(t, err)
	require.DirExists(t, entry)
}

func TestCacheOpensEntriesToTheServersUser(t *testing.T) {
	t.Parallel()
	entry, err := cache{t.TempDir()}.get("entry", func(target string) error {
		require.NoError(t, os.Mkdir(target, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(target, "program"), nil, 0o700))
		return os.WriteFile(filepath.Join(target, "text"), nil, 0o600)
	})
	require.NoError(t, err)
	for name, mode := range map[string]os.FileMode{".": 0o755, "program": 0o755, "text": 0o644} {
		info, err := os.Stat(filepath.Join(entry, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}
}

func TestCacheRefusesADirectoryThatOthersCanWriteTo(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.Chmod(directory, 0o777))
	t.Setenv("OUTBOX_TEST_PG_CACHE", directory)
	_, err := openCache()
	require.ErrorContains(t, err, "only its owner")
}

func TestCacheOpensItselfToTheServersUser(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, os.Mkdir(directory, 0o700))
	t.Setenv("OUTBOX_TEST_PG_CACHE", directory)
	_, err := openCache()
	require.NoError(t, err)
	info, err := os.Stat(directory)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
}
