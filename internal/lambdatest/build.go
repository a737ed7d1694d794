package lambdatest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

var builds = struct {
	sync.Mutex
	root     string            // the module's directory
	emulator string            // the emulator's binary
	packages map[string]string // package to bootstrap
}{packages: map[string]string{}}

// Build builds ./functions/<function> for this machine, with the flags of
// `make build` but for one, and returns the path of its bootstrap. It builds a
// function once in a process, whoever asks.
func Build(ctx context.Context, function string) (string, error) {
	return BuildPackage(ctx, "./functions/"+function)
}

// BuildPackage is [Build] for any main package, named relative to the module's
// root.
func BuildPackage(ctx context.Context, pkg string) (string, error) {
	builds.Lock()
	defer builds.Unlock()
	if bootstrap, ok := builds.packages[pkg]; ok {
		return bootstrap, nil
	}

	root, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}

	bootstrap, err := buildBootstrap(ctx, root, pkg)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", pkg, err)
	}

	builds.packages[pkg] = bootstrap
	return bootstrap, nil
}

// buildBootstrap builds beside the place where the binary belongs and renames
// it there, because test binaries of several packages do so at once. It builds
// over a link to the binary of last time, which keeps its build id: by that the
// go command sees that nothing has changed, and does not link for seconds what
// is there already.
func buildBootstrap(ctx context.Context, root, pkg string) (string, error) {
	dir := filepath.Join(root, ".cache", "lambdatest", filepath.FromSlash(pkg))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}

	fresh, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)

	bootstrap, built := filepath.Join(dir, "bootstrap"), filepath.Join(fresh, "bootstrap")
	_ = os.Link(bootstrap, built) // the first time there is none

	_, err = goCommand(ctx, root, "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc",
		"-ldflags", "-s -w", "-o", built, pkg)
	if err != nil {
		return "", err
	}
	return bootstrap, os.Rename(built, bootstrap)
}

// emulatorBinary is the path of the emulator that tools/aws-lambda-rie pins;
// the go command builds it when its cache lacks it.
func emulatorBinary(ctx context.Context) (string, error) {
	builds.Lock()
	defer builds.Unlock()
	if builds.emulator != "" {
		return builds.emulator, nil
	}

	root, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}

	path, err := goCommand(ctx, filepath.Join(root, "tools", "aws-lambda-rie"), "tool", "-n", "aws-lambda-rie")
	if err != nil {
		return "", fmt.Errorf("build the Lambda emulator: %w", err)
	}

	builds.emulator = path
	return path, nil
}

// moduleRoot asks for this package's module, not the current one: the
// benchmarks have a module of their own.
func moduleRoot(ctx context.Context) (string, error) {
	if builds.root != "" {
		return builds.root, nil
	}

	root, err := goCommand(ctx, "", "list", "-f", "{{.Module.Dir}}", "outboxrelay/internal/lambdatest")
	if err != nil {
		return "", fmt.Errorf("find the module's root: %w", err)
	}

	builds.root = root
	return root, nil
}

func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)

	var stdout, stderr strings.Builder

	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}
