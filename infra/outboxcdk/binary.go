package outboxcdk

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// machine is what the binaries of an architecture are built for: the go
// command's name of it, and that in their header.
type machine struct {
	goarch string
	elf    elf.Machine
}

var machines = map[string]machine{
	"arm64":  {"arm64", elf.EM_AARCH64},
	"x86_64": {"amd64", elf.EM_X86_64},
}

// Build builds the functions for an architecture, by the Makefile of the source
// that this module comes with, and returns the directory that has
// <function>/bootstrap. What has not changed takes a second.
func Build(ctx context.Context, architecture string) (dir string, err error) {
	source, err := sourceDir(ctx)
	if err != nil {
		return "", err
	}
	dist := filepath.Join(".cache", "lambda", architecture) // relative: make takes no path that has a space in it
	goarch := machines[architecture].goarch
	//nolint:gosec // runs make on the module's own source
	command := exec.CommandContext(ctx, "make", "--silent", "-C", source, "build", "DIST="+dist, "GOARCH="+goarch)
	command.Env = append(command.Environ(), "GOWORK=off") // an embedder's need not have the source in it
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the functions for %s in %s: %w\n%s", architecture, source, err, output)
	}
	return filepath.Join(source, dist), nil
}

// sourceDir is where the go command has the module outboxrelay: in a checkout, or
// where a replace directive points to. A vendor directory has only those of its
// packages that are imported, so that it is not looked at.
func sourceDir(ctx context.Context) (string, error) {
	output, err := exec.CommandContext(ctx, "go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "outboxrelay").Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return "", fmt.Errorf("find the source of the functions: %w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("find the source of the functions: %w", err)
	}
	return strings.TrimSpace(string(output)), nil
}

// checkBinaries returns what is wrong with the binaries of a directory. Lambda
// would say no more than that the first invocation failed.
func checkBinaries(dir, architecture string) error {
	var problems []error
	for _, function := range functionNames {
		problems = append(problems, checkBinary(filepath.Join(dir, function, "bootstrap"), architecture))
	}
	return errors.Join(problems...)
}

func checkBinary(path, architecture string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("binaryDir has no %s: build it with make build", path)
	}
	if info.Mode()&0o111 == 0 {
		return fmt.Errorf("binaryDir: %s may not be executed: give it the mode 755", path)
	}
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("binaryDir: %s is no Linux binary: %w", path, err)
	}
	defer file.Close()
	wanted := machines[architecture]
	if file.Machine != wanted.elf {
		return fmt.Errorf("binaryDir: %s is for %s, and the functions are %s: build it with make build GOARCH=%s, or set architecture",
			path, file.Machine, architecture, wanted.goarch)
	}
	return nil
}

func (c *checker) binaries(p Props) {
	if _, ok := machines[p.Architecture]; !ok {
		c.report("architecture", "is %q: expected arm64 or x86_64", p.Architecture)
	} else if p.BinaryDir != "" {
		c.add(checkBinaries(p.BinaryDir, p.Architecture))
	}
}
