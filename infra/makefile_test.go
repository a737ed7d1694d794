package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// commands are what a target would run.
func commands(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory", "--dry-run", "-C", ".."}, arguments...)...).CombinedOutput()
	return string(output), err
}

func TestTargetsPassOnSettingsAndOptions(t *testing.T) {
	for _, target := range []string{"synth", "diff", "deploy", "rollback", "destroy"} {
		output, err := commands(t, target, "SETTINGS=/etc/my settings.json", "ARGS=-c eventBus=orders --force")
		require.NoError(t, err, "%s", output)
		require.Regexp(t, `cd infra && \./cdk\.sh `+target+`( --quiet)? -c 'settings=/etc/my settings\.json' -c eventBus=orders --force\n`, output)
		output, err = commands(t, target, "SETTINGS=prod.json", "ARGS=--require-approval never")
		require.NoError(t, err, "%s", output)
		require.Regexp(t, `cd infra && \./cdk\.sh `+target+`( --quiet)? -c 'settings=/\S+/prod\.json' --require-approval never\n`, output)
	}
}

func TestASettingWithoutItsOptionIsNoNameOfAStack(t *testing.T) {
	for _, target := range []string{"synth", "diff", "deploy", "rollback", "destroy"} {
		output, err := commands(t, target, "ARGS=eventBus=orders")
		require.Error(t, err)
		require.Contains(t, output, "ARGS is 'eventBus=orders': expected -c before a setting, as in ARGS='-c key=value'")
	}
}

func TestSynthListsNoTemplatesOfEarlierRuns(t *testing.T) {
	output, err := commands(t, "synth")
	require.NoError(t, err, "%s", output)
	require.Regexp(t, `(?s)rm -rf infra/cdk\.out.*/cdk\.sh synth.*ls cdk\.out/`, output)
}

// A stand-in for the CDK runs this test's binary as the app.
func TestWhatIsWrongWithTheSettingsIsSaidLast(t *testing.T) {
	if os.Getenv("OUTBOXRELAY_PROBLEMS") != "" {
		tell(errors.New("eventBuss is no setting\negress is not set"))
		os.Exit(1)
	}
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "node_modules", ".bin"), 0o755))
	cdk := "#!/bin/sh\necho \"$@\" >&2\n" + os.Args[0] + " -test.run=^" + t.Name() + "$ || echo exit status 1 >&2\nexit 3\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "node_modules", ".bin", "cdk"), []byte(cdk), 0o755))
	script, err := filepath.Abs("cdk.sh")
	require.NoError(t, err)

	command := exec.CommandContext(t.Context(), script, "synth", "-c", "a=b c")
	command.Dir = dir
	output, err := command.CombinedOutput()

	require.Equal(t, 3, command.ProcessState.ExitCode(), "%v", err)
	require.Equal(t, "synth -c a=b c\nexit status 1\neventBuss is no setting\negress is not set\n", string(output))
}
