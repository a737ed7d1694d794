package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// requirements has MiniStack and all that it needs, each with its hashes.
//
//go:embed requirements.txt
var requirements string

// oldestPython is the oldest one that the requirements are complete for.
const oldestPython = "3.11"

var errNoPython = errors.New("Python " + oldestPython + " or later with its module venv is missing: " +
	"install it (Debian and Ubuntu: apt-get install python3-venv; macOS: brew install python)")

// installMiniStack returns the Python of a virtual environment with exactly the
// requirements. What was installed once for the same requirements serves again.
func installMiniStack(ctx context.Context, cache string, say say) (python string, err error) {
	dir := filepath.Join(cache, fmt.Sprintf("venv-%.12x", sha256.Sum256([]byte(requirements))))
	python = filepath.Join(dir, "bin", "python")
	if exec.CommandContext(ctx, python, "-c", "import ministack.app").Run() == nil { //nolint:gosec // its own
		return python, nil
	}
	say("installing MiniStack with pip (once)")
	system, err := findPython(ctx)
	if err != nil {
		return "", err
	}
	if _, err := runToEnd(newCommand(ctx, system, "-m", "venv", "--clear", dir)); err != nil {
		return "", fmt.Errorf("make a virtual environment: %w\n%w", err, errNoPython)
	}
	file := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(file, []byte(requirements), 0o644); err != nil { //nolint:gosec // no secret
		return "", err
	}
	_, err = runToEnd(newCommand(ctx, python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
		"--only-binary", ":all:", "--require-hashes", "--requirement", file))
	if err != nil {
		return "", fmt.Errorf("install MiniStack: %w", err)
	}
	return python, nil
}

// findPython returns the first Python on PATH that will do.
func findPython(ctx context.Context) (string, error) {
	check := "import sys, venv, ensurepip; sys.exit(sys.version_info < (" + strings.ReplaceAll(oldestPython, ".", ", ") + "))"
	for _, name := range []string{"python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if exec.CommandContext(ctx, path, "-c", check).Run() == nil { //nolint:gosec // from PATH, on purpose
			return path, nil
		}
	}
	return "", errNoPython
}
