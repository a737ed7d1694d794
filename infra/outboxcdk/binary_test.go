package outboxcdk_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/infra/outboxcdk"
)

// write writes a file of a test's own module.
func write(t *testing.T, content string, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
}

// newSource makes a module outboxrelay with the Makefile of this one, and with a
// single function.
func newSource(t *testing.T, dir string) {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	write(t, string(makefile), dir, "Makefile")
	write(t, "module outboxrelay\n\ngo 1.26\n", dir, "go.mod")
	write(t, "package main\n\nfunc main() {}\n", dir, "functions", "lag", "main.go")
	write(t, "package config\n", dir, "internal", "config", "config.go")
}

// newEmbedder makes a module that requires it, as the documentation has it.
func newEmbedder(t *testing.T, dir string) {
	t.Helper()
	write(t, "module app\n\ngo 1.26\n\nrequire outboxrelay v0.0.0\n\nreplace outboxrelay => \"./outbox relay\"\n", dir, "go.mod")
	newSource(t, filepath.Join(dir, "outbox relay"))
}

func TestBuildsInAnEmbeddersModule(t *testing.T) {
	for name, prepare := range map[string]func(dir string){
		"with a space in its path": func(string) {},
		"with a vendor directory": func(dir string) {
			write(t, "# outboxrelay v0.0.0 => \"./outbox relay\"\n## explicit; go 1.26\n", dir, "vendor", "modules.txt")
		},
		"in a workspace that has not the source": func(dir string) { write(t, "go 1.26\n\nuse .\n", dir, "go.work") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "my app")
			newEmbedder(t, dir)
			prepare(dir)
			t.Chdir(dir)
			built, err := outboxcdk.Build(t.Context(), "x86_64")
			require.NoError(t, err)
			require.Equal(t, filepath.Join(dir, "outbox relay", ".cache", "lambda", "x86_64"), built)
			binary, err := elf.Open(filepath.Join(built, "lag", "bootstrap"))
			require.NoError(t, err)
			require.Equal(t, elf.EM_X86_64, binary.Machine)
			require.NoError(t, binary.Close())
		})
	}
}

func TestSaysThatThereIsNoSourceToBuildFrom(t *testing.T) {
	dir := t.TempDir()
	write(t, "module app\n\ngo 1.26\n", dir, "go.mod")
	t.Chdir(dir)
	_, err := outboxcdk.Build(t.Context(), "arm64")
	require.ErrorContains(t, err, "find the source of the functions: ")
	require.ErrorContains(t, err, "outboxrelay")
}

func TestMakeRefusesADirectoryThatItWouldTakeForTwo(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "--dry-run", "build", "DIST=my app/dist").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), "DIST is 'my app/dist': make takes no directory that has a space")
}
