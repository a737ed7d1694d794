package pgbouncertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// places are where packages put the program that a user's PATH leaves out.
var places = []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/homebrew/sbin"}

// errMissing says that there is no PgBouncer on the machine.
var errMissing = errors.New("there is no pgbouncer on this machine: install it (apt-get install pgbouncer, brew install pgbouncer)")

// Find returns the path of the program.
func Find() (string, error) {
	if given := os.Getenv("OUTBOX_TEST_PGBOUNCER"); given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("OUTBOX_TEST_PGBOUNCER: %w", err)
		}
		return path, nil
	}
	if path, err := exec.LookPath("pgbouncer"); err == nil {
		return path, nil
	}
	for _, place := range places {
		if path, err := exec.LookPath(filepath.Join(place, "pgbouncer")); err == nil {
			return path, nil
		}
	}
	return "", errMissing
}

// mustFind skips a test without the program, but never in CI, where that would go unseen.
func mustFind(tb testing.TB) string {
	tb.Helper()
	path, err := Find()
	switch {
	case err == nil:
	case errors.Is(err, errMissing) && os.Getenv("CI") == "":
		tb.Skip("*** SKIPPED: " + err.Error() + " ***")
	default:
		tb.Fatal(err)
	}
	return path
}
