package postgrestest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"outboxrelay/internal/daemontest"
)

// cache is a directory of finished entries. Several processes may use it at once.
type cache struct{ directory string }

// openCache makes the directory if need be. It refuses one that another user could write to: what lies in it is executed.
func openCache() (cache, error) {
	directory := cacheDirectory()
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return cache{}, fmt.Errorf("make cache: %w", err)
	}
	info, err := os.Lstat(directory)
	if err != nil {
		return cache{}, fmt.Errorf("open cache: %w", err)
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode()&0o022 != 0 || !ok || int(status.Uid) != os.Geteuid() {
		return cache{}, fmt.Errorf("open cache: %s has to be a directory that only its owner (uid %d) can write to", directory, os.Geteuid())
	}
	return cache{directory}, openUp(directory, info.Mode())
}

// openUp undoes a strict umask: root's files have to be readable by the user PostgreSQL runs as.
func openUp(path string, mode os.FileMode) error {
	readable := mode.Perm() | 0o444
	if mode.IsDir() || readable&0o100 != 0 {
		readable |= 0o111
	}
	return os.Chmod(path, readable)
}

// cacheDirectory is the user's own, except for root, whose home is closed to the user PostgreSQL runs as.
func cacheDirectory() string {
	if directory := os.Getenv("OUTBOX_TEST_PG_CACHE"); directory != "" {
		return directory
	}
	if home, err := os.UserCacheDir(); err == nil && os.Geteuid() != 0 {
		return filepath.Join(home, "outboxrelay", "postgres")
	}
	return filepath.Join(daemontest.TemporaryDirectory(), "outboxrelay-postgres-"+strconv.Itoa(os.Geteuid()))
}

// get returns the entry's directory, which fill makes if there is none. A lock lets one process fill while others wait, and the
// entry appears by a rename, so that one which was killed half-way leaves nothing that looks finished.
func (c cache) get(name string, fill func(target string) error) (string, error) {
	unlock, err := c.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	entry := filepath.Join(c.directory, name)
	if _, err := os.Stat(entry); err == nil {
		return entry, nil
	}
	work := filepath.Join(c.directory, "unfinished")
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.RemoveAll(work); err != nil {
		return "", fmt.Errorf("clear cache: %w", err)
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		return "", fmt.Errorf("fill cache: %w", err)
	}
	return entry, c.publish(work, entry, fill)
}

func (c cache) publish(work, entry string, fill func(target string) error) error {
	target := filepath.Join(work, "entry")
	if err := fill(target); err != nil {
		return err
	}
	if err := openTree(target); err != nil {
		return fmt.Errorf("fill cache: %w", err)
	}
	return os.Rename(target, entry)
}

func (c cache) lock() (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(c.directory, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock cache: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock cache: %w", err)
	}
	return func() { _ = file.Close() }, nil
}

func openTree(directory string) error {
	return filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Type()&os.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return openUp(path, info.Mode())
	})
}
