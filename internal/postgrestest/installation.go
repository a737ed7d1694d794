package postgrestest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"outboxrelay/internal/daemontest"
)

// Installation is a set of PostgreSQL server binaries.
type Installation struct {
	// Bin is the directory of initdb and postgres.
	Bin string
	// Version is the whole version as the server prints it, for example "15.19".
	Version string
	// Major is the version before the dot, for example 15.
	Major int
}

// inspectTimeout limits `postgres --version`: a cold disk takes a second, a broken binary may hang.
const inspectTimeout = 20 * time.Second

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) ((\d+)\S*)`)

// inspect returns the installation in a directory. The error says what keeps it from being one.
func inspect(ctx context.Context, bin string) (Installation, error) {
	for _, program := range []string{"initdb", "postgres"} {
		if err := executable(filepath.Join(bin, program)); err != nil {
			return Installation{}, err
		}
	}
	if os.Geteuid() == 0 {
		if err := daemontest.Traversable(bin); err != nil {
			return Installation{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	output, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").CombinedOutput()
	if err != nil {
		return Installation{}, fmt.Errorf("run %s/postgres --version: %w: %s", bin, err, output)
	}
	version, major, err := parseVersion(string(output))
	if err != nil {
		return Installation{}, err
	}
	return Installation{Bin: bin, Version: version, Major: major}, nil
}

// parseVersion reads what `postgres --version` prints: "postgres (PostgreSQL) 15.19 (Debian 15.19-0+deb12u1)".
func parseVersion(output string) (version string, major int, err error) {
	match := versionPattern.FindStringSubmatch(output)
	if match == nil {
		return "", 0, fmt.Errorf("no PostgreSQL version in %q", output)
	}
	major, err = strconv.Atoi(match[2])
	if err != nil {
		return "", 0, fmt.Errorf("parse version %q: %w", match[1], err)
	}
	return match[1], major, nil
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not executable", path)
	}
	return nil
}
