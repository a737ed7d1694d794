package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// synthesize runs the app with a context and returns the directory of what it made.
func synthesize(t *testing.T, context map[string]any) (string, error) {
	t.Helper()
	dir := t.TempDir()
	return dir, run(t.Context(), awscdk.NewApp(&awscdk.AppProps{Context: &context, Outdir: jsii.String(dir)}))
}

func TestTheExampleIsSynthesizedWithFunctionsThatAreBuiltFromSource(t *testing.T) {
	dir, err := synthesize(t, map[string]any{"settings": "settings.example.json", "stackName": "Shop"})
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(dir, "Shop.template.json"))
	require.NoError(t, err)
	var template struct{ Outputs, Resources map[string]any }
	require.NoError(t, json.Unmarshal(content, &template))
	for _, output := range []string{"AdminFunction", "RelayFunction", "MigrateFunction", "EventBusName", "AlarmTopic", "Dashboard", "UndeliveredQueue"} {
		require.Contains(t, template.Outputs, output)
	}
	binaries, err := filepath.Glob(filepath.Join(dir, "asset.*", "bootstrap"))
	require.NoError(t, err)
	require.Len(t, binaries, 5)
}

func TestNoLogIsKeptForEver(t *testing.T) {
	dir, err := synthesize(t, map[string]any{"settings": "settings.example.json"})
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(dir, "OutboxRelay.template.json"))
	require.NoError(t, err)
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				LoggingConfig   struct{ LogGroup struct{ Ref string } }
				RetentionInDays int
			}
		}
	}
	require.NoError(t, json.Unmarshal(content, &template))
	functions := 0
	for id, resource := range template.Resources {
		if resource.Type == "AWS::Lambda::Function" {
			functions++
			require.Positive(t, template.Resources[resource.Properties.LoggingConfig.LogGroup.Ref].Properties.RetentionInDays, id)
		}
	}
	require.Equal(t, 6, functions, "with the CDK's own")
}

func TestWrongSettingsAreAnErrorBeforeAnythingIsSynthesized(t *testing.T) {
	dir, err := synthesize(t, map[string]any{"settings": "settings.example.json", "egress": "none", "eventBuss": "orders"})
	require.ErrorContains(t, err, "docs/deployment.md has them all")
	require.ErrorContains(t, err, "\neventBuss is no setting: did you mean eventBus?\n")
	require.ErrorContains(t, err, `egress is "none"`)
	made, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, made)
}

func TestTagsAreTheStacks(t *testing.T) {
	dir, err := synthesize(t, map[string]any{"settings": "settings.example.json"})
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err)
	var manifest struct {
		Artifacts map[string]struct {
			Environment string
			Properties  struct{ Tags map[string]string }
		}
	}
	require.NoError(t, json.Unmarshal(content, &manifest))
	require.Equal(t, map[string]string{"team": "shop"}, manifest.Artifacts["OutboxRelay"].Properties.Tags)
	require.Equal(t, "aws://unknown-account/unknown-region", manifest.Artifacts["OutboxRelay"].Environment)
}
