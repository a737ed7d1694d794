package daemontest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// longestTemporary keeps a socket's path (directory/outboxrelay-pg-1234567890/.s.PGSQL.12345) below macOS's 104 bytes; Linux has 108.
const longestTemporary = 60

// TemporaryDirectory is the system's, or /tmp where that is too long for a socket or, as root, closed to the server's user.
func TemporaryDirectory() string {
	directory := os.TempDir()
	if len(directory) > longestTemporary {
		return "/tmp"
	}
	if os.Geteuid() == 0 && Traversable(directory) != nil {
		return "/tmp"
	}
	return directory
}

// Traversable reports whether users other than the owner reach a directory: each of its parents has to let them through.
func Traversable(directory string) error {
	directory, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return err
	}
	for ; ; directory = filepath.Dir(directory) {
		info, err := os.Stat(directory)
		if err != nil {
			return err
		}
		if info.Mode()&0o001 == 0 {
			return fmt.Errorf("%s is closed to other users: %w", directory, ErrUnreachable)
		}
		if directory == filepath.Dir(directory) {
			return nil
		}
	}
}

// ErrUnreachable marks a directory that the user a server runs as cannot enter.
var ErrUnreachable = errors.New("a server cannot run as root and cannot reach it as another user")
