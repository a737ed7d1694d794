package main

import (
	"os/exec"
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
		require.Regexp(t, `node_modules/\.bin/cdk `+target+`( --quiet)? -c 'settings=/etc/my settings\.json' -c eventBus=orders --force\n`, output)
		output, err = commands(t, target, "SETTINGS=prod.json", "ARGS=--require-approval never")
		require.NoError(t, err, "%s", output)
		require.Regexp(t, `node_modules/\.bin/cdk `+target+`( --quiet)? -c 'settings=/\S+/prod\.json' --require-approval never\n`, output)
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
	require.Regexp(t, `(?s)rm -rf infra/cdk\.out.*/cdk synth.*ls cdk\.out/`, output)
}
