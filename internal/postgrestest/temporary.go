package postgrestest

import (
	"os"
	"syscall"

	"outboxrelay/internal/daemontest"
)

const (
	memoryFileSystem = "/dev/shm"
	// enoughMemory is what has to be free there, in bytes: a container's usual 64 MB are not, nor is a machine of less than 8 GB.
	enoughMemory = 4 << 30
)

// dataDirectory is where servers' directories go. Without fsync that is Linux's file system in memory if it is large: a database is some 300
// files, and making them takes a fifth of the time there (measured: 60 instead of 270 ms). TMPDIR says otherwise.
func dataDirectory(durable bool) string {
	if !durable && os.Getenv("TMPDIR") == "" && free(memoryFileSystem) >= enoughMemory {
		return memoryFileSystem
	}
	return daemontest.TemporaryDirectory()
}

// free returns how many bytes an unprivileged user can still write; none where there is no such file system.
func free(directory string) uint64 {
	var status syscall.Statfs_t
	if err := syscall.Statfs(directory, &status); err != nil {
		return 0
	}
	return status.Bavail * uint64(status.Bsize) //nolint:gosec // signed on Linux, unsigned on macOS, positive on both
}
