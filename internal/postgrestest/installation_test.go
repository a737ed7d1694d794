package postgrestest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]struct {
		version string
		major   int
	}{
		"postgres (PostgreSQL) 15.19 (Debian 15.19-0+deb12u1)\n": {"15.19", 15},
		"postgres (PostgreSQL) 18.4\n":                           {"18.4", 18},
		"postgres (PostgreSQL) 19beta1\n":                        {"19beta1", 19},
	} {
		version, major, err := parseVersion(output)
		require.NoError(t, err, output)
		require.Equal(t, want.version, version)
		require.Equal(t, want.major, major)
	}
}

func TestParseVersionRefusesOtherPrograms(t *testing.T) {
	t.Parallel()
	_, _, err := parseVersion("v20.19.2\n")
	require.ErrorContains(t, err, `no PostgreSQL version in "v20.19.2\n"`)
}

func TestInspectNamesTheMissingProgram(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	_, err := inspect(t.Context(), bin)
	require.ErrorContains(t, err, filepath.Join(bin, "initdb"))
}

func TestInspectRefusesAFileThatIsNotExecutable(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "initdb"), nil, 0o600))
	_, err := inspect(t.Context(), bin)
	require.ErrorContains(t, err, "initdb is not executable")
}
