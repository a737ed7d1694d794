package settings_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/infra/outboxcdk"
	"outboxrelay/infra/settings"
)

const secretArn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/relay-AbCdEf"

// enough are the least settings.
func enough() map[string]any {
	return map[string]any{"databaseSecretArn": secretArn, "eventBus": "orders"}
}

// file writes a settings file and returns the context that names it.
func file(t *testing.T, content string) map[string]any {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prod.json")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return map[string]any{"settings": path}
}

func TestTwoSettingsAreEnough(t *testing.T) {
	t.Parallel()

	read, err := settings.Read(enough())
	require.NoError(t, err)
	expected := outboxcdk.NewProps()
	expected.Database.SecretArn, expected.Bus.EventBus = secretArn, "orders"
	require.Equal(t, expected, read.Props)
	require.Equal(t, "OutboxRelay", read.StackName)
}

func TestTheExampleIsValid(t *testing.T) {
	t.Parallel()

	read, err := settings.Read(map[string]any{"settings": "../settings.example.json"})
	require.NoError(t, err)
	require.Equal(t, []string{"subnet-0123456789abcdef0", "subnet-0123456789abcdef1"}, read.Props.Network.SubnetIDs)
	require.Equal(t, map[string]string{"team": "shop"}, read.Tags)
	require.NotEmpty(t, read.Props.Alarms.RunbookURL)
}

func TestSettingsHaveTheFormsOfTheCommandLine(t *testing.T) {
	t.Parallel()

	context := enough()
	maps.Copy(context, map[string]any{
		"relayMemoryMb": "512", "relayEvery": "5m", "scheduled": "false", "topics": "billing, audit", "tags": "team=shop,env=prod",
		"RELAY_BATCH_SIZE": "100", "migrateSecretArn": secretArn, "stackName": "Shop",
	})
	read, err := settings.Read(context)
	require.NoError(t, err)
	require.Equal(t, 512, read.Props.Relay.MemoryMB)
	require.Equal(t, 5*time.Minute, read.Props.Relay.Every)
	require.False(t, read.Props.Scheduled)
	require.Equal(t, []string{"billing", "audit"}, read.Props.Bus.Topics)
	require.Equal(t, map[string]string{"team": "shop", "env": "prod"}, read.Tags)
	require.Equal(t, map[string]string{"RELAY_BATCH_SIZE": "100"}, read.Props.Environment)
	require.Equal(t, map[string]string{"migrate": secretArn}, read.Props.Database.Secrets)
	require.Equal(t, "Shop", read.StackName)
}

func TestSettingsHaveTheFormsOfJSON(t *testing.T) {
	t.Parallel()

	context := file(t, `{"relayMemoryMb": 512, "relayEvery": "5m", "scheduled": false, "topics": ["billing", "audit"],
		"tags": {"team": "shop"}, "RELAY_BATCH_SIZE": 100, "databaseSecretArn": "`+secretArn+`", "eventBus": "orders"}`)
	read, err := settings.Read(context)
	require.NoError(t, err)
	require.Equal(t, 512, read.Props.Relay.MemoryMB)
	require.Equal(t, 5*time.Minute, read.Props.Relay.Every)
	require.False(t, read.Props.Scheduled)
	require.Equal(t, []string{"billing", "audit"}, read.Props.Bus.Topics)
	require.Equal(t, map[string]string{"team": "shop"}, read.Tags)
	require.Equal(t, map[string]string{"RELAY_BATCH_SIZE": "100"}, read.Props.Environment)

	context = enough()
	context["relayMemoryMb"], context["scheduled"], context["topics"] = 512.0, false, []any{"billing"} // of cdk.json
	read, err = settings.Read(context)
	require.NoError(t, err)
	require.Equal(t, 512, read.Props.Relay.MemoryMB)
	require.Equal(t, []string{"billing"}, read.Props.Bus.Topics)
}

func TestTheCommandLineBeatsTheFile(t *testing.T) {
	t.Parallel()

	context := file(t, `{"databaseSecretArn": "`+secretArn+`", "eventBus": "orders", "relayMemoryMb": 512}`)
	context["eventBus"] = "billing"
	read, err := settings.Read(context)
	require.NoError(t, err)
	require.Equal(t, "billing", read.Props.Bus.EventBus)
	require.Equal(t, 512, read.Props.Relay.MemoryMB)
}

func TestLeavesWhatIsTheCDKsAlone(t *testing.T) {
	t.Parallel()

	context := enough()
	for _, key := range []string{
		"@aws-cdk/core:target-partitions", "aws:cdk:version-reporting", "vpc-provider:account=1:region=eu-west-1", "cdk-migrate", "cli-telemetry",
		"acknowledged-issue-numbers",
	} {
		context[key] = map[string]any{"any": nil}
	}
	_, err := settings.Read(context)
	require.NoError(t, err)
}

// A person's own context for all apps is merged into that of this one.
func TestLeavesWhatAPersonHasForAllAppsAloneUnlessItIsNearASetting(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	require.NoError(t, os.WriteFile(filepath.Join(home, ".cdk.json"), []byte(`{"context": {"costCenter": null, "env": "dev", "eventBuss": "x"}}`), 0o600))

	context := enough()
	context["costCenter"], context["env"] = nil, "dev"
	_, err := settings.Read(context)
	require.NoError(t, err)

	context["eventBuss"], context["team"] = "x", "shop"
	_, err = settings.Read(context)
	require.EqualError(t, err, "eventBuss is no setting: did you mean eventBus?\nteam is no setting")
}

func TestWhatIsLeftAloneInTheContextIsNoSettingInTheFile(t *testing.T) {
	t.Parallel()

	_, err := settings.Read(file(t, `{"databaseSecretArn": "`+secretArn+`", "eventBus": "orders", "cdk-migrate": true}`))
	require.EqualError(t, err, "cdk-migrate is no setting")
}

func long(length int) string { return strings.Repeat("ä", length) }

// keys are so many tags.
func keys(count int) string {
	var tags []string
	for i := range count {
		tags = append(tags, fmt.Sprintf("key%d=a", i))
	}
	return strings.Join(tags, ",")
}

func TestTakesTheTagsThatAWSTakes(t *testing.T) {
	t.Parallel()

	for _, tags := range []string{long(128) + "=" + long(256), keys(50), "cost centre=a b/c:d=e+f-g@h_i.j", "team="} {
		context := enough()
		context["tags"] = tags
		_, err := settings.Read(context)
		require.NoError(t, err, tags)
	}
}

func TestRefusesAKeyThatAFileHasTwice(t *testing.T) {
	t.Parallel()

	for content, problem := range map[string]string{
		"{\"eventBus\": \"a\",\n\"topics\": [\"eventBus\", \"b\", \"b\"],\n\"eventBus\": \"a\"}": `prod.json has the key "eventBus" twice, the second time at line 3: expected each key once`,
		"{\"tags\": {\n\"team\": \"a\", \"team\": \"b\"}}":                                       `prod.json has the key "team" twice, the second time at line 2`,
	} {
		_, err := settings.Read(file(t, content))
		require.ErrorContains(t, err, problem)
	}
	context := file(t, `{"tags": {"eventBus": "a", "a": "a"}, "eventBus": "orders", "topics": ["a", "b"], "databaseSecretArn": "`+secretArn+`"}`)
	_, err := settings.Read(context)
	require.NoError(t, err, "another object may have it too, and values are no keys")
}

func TestRefuses(t *testing.T) {
	t.Parallel()

	for given, problem := range map[string]string{
		"databaseSecret=" + secretArn: "databaseSecret is no setting: did you mean databaseSecretArn?",
		"eventbus=orders":             "eventbus is no setting: did you mean eventBus?",
		"RELAY_BATCHSIZE=1":           "RELAY_BATCHSIZE is no setting: did you mean RELAY_BATCH_SIZE?",
		"event-bus=orders":            "event-bus is no setting: did you mean eventBus?",
		"relay-every=1m":              "relay-every is no setting: did you mean relayEvery?",
		"PGHOSTADDR=1":                "PGHOSTADDR is no setting",
		"PGHOST=db":                   "PGHOST is set: expected databaseHost instead",
		"bus=orders":                  "bus is no setting",
		"relayMemoryMb=much":          `relayMemoryMb is "much": expected a whole number`,
		"scheduled=yes":               `scheduled is "yes": expected true or false`,
		"databaseIamAuth=1":           `databaseIamAuth is "1": expected true or false`,
		"alarmEncrypted=TRUE":         `alarmEncrypted is "TRUE": expected true or false`,
		"migrateAtDeploy=":            `migrateAtDeploy is "": expected true or false`,
		"RELAY_LISTEN=1":              `RELAY_LISTEN is "1": expected true or false`,
		"AWS_USE_FIPS_ENDPOINT=yes":   `AWS_USE_FIPS_ENDPOINT is "yes": expected true or false`,
		`subnetIds={"a":"b"}`:         `subnetIds is "{\"a\":\"b\"}": expected a list, as a,b or in a file ["a", "b"]`,
		"tags=a=1,a=2":                `tags is "a=1,a=2": expected key=text,... with each key once`,
		"tags=AWS:team=a":             `tags has "AWS:team", which is "a": expected a key that does not begin with aws:, which is reserved`,
		"tags==a":                     `tags has "", which is "a": expected a key of 1 to 128 characters`,
		"tags=a=b*":                   `tags has "a", which is "b*": expected letters, digits, blanks and _.:/=+-@`,
		"tags=" + long(129) + "=a":    `expected a key of 1 to 128 characters`,
		"tags=a=" + long(257):         `expected a value of at most 256 characters`,
		"tags=" + keys(51):            `tags has 51 keys: expected at most 50`,
		"relayEvery=5":                `relayEvery is "5": expected a duration with its unit (s, m, h)`,
		"relayEvery=1d":               `relayEvery is "1d": expected a duration with its unit (s, m, h): a day is 24h`,
		"CLEANUP_RETENTION=7d":        "from 0s to 876000h: 7 days are 168h",
		"topics=[1]":                  `topics is "[1]": expected a list, as a,b or in a file ["a", "b"]`,
		"tags=team":                   `tags is "team": expected key=text,... with each key once, or in a file {"key": "text"}`,
		"stackName=1":                 `stackName is "1": expected a letter`,
		"relayParallel=0":             `relayParallel is "0": expected a whole number from 1 to 64`,
		"RELAY_BATCH_SIZE=0":          `RELAY_BATCH_SIZE is "0": expected a whole number from 1 to 10000`,
	} {
		t.Run(given, func(t *testing.T) {
			t.Parallel()

			context := enough()
			key, text, _ := strings.Cut(given, "=")
			context[key] = text
			_, err := settings.Read(context)
			require.ErrorContains(t, err, problem)
			require.Len(t, strings.Split(err.Error(), "\n"), 1, "one problem")
		})
	}
}

func TestNamesWhatIsMissingAndAllThatIsWrongAtOnce(t *testing.T) {
	t.Parallel()

	context := file(t, `{"databaseHost": null, "topics": [null], "relayEvery": {}}`)
	maps.Copy(context, map[string]any{"relayMemoryMb": nil, "egress": "nat", "bus": "orders"})
	_, err := settings.Read(context)
	for _, problem := range []string{
		"databaseHost is null: expected a value", "relayMemoryMb is null", `topics is "[null]": expected a list`, `relayEvery is "{}"`, "egress is set", "bus is no setting", "databaseSecretArn is not set", "eventBus is not set",
	} {
		require.ErrorContains(t, err, problem)
	}
}

func TestNamesWhereAFileIsWrong(t *testing.T) {
	t.Parallel()

	for content, problem := range map[string]string{
		"{\n\"eventBus\": orders}":      "prod.json is no JSON object, at line 2",
		"[]":                            "prod.json is no JSON object, at line 1",
		"{}\n{}":                        "prod.json goes on after its JSON object",
		"{\"eventBus\": \"orders\"\n\n": "prod.json is no JSON object, at line 3",
	} {
		_, err := settings.Read(file(t, content))
		require.ErrorContains(t, err, problem)
	}
	_, err := settings.Read(map[string]any{"settings": "nowhere.json"})
	require.ErrorContains(t, err, "open nowhere.json")
}

// Each setting of the table can be given, and does something.
func TestEverySettingIsReadIntoTheProps(t *testing.T) {
	t.Parallel()

	defaults, _ := settings.Read(enough())
	for _, row := range rows() {
		context := enough()
		for _, sample := range []string{"7", "7m", "seven=seven", "true", "false", "seven"} {
			context[row] = sample
			read, _ := settings.Read(context)
			if !reflect.DeepEqual(defaults, read) {
				delete(context, row)
				break
			}
		}
		require.NotContains(t, context, row)
	}
}

// rows are the settings of the table.
func rows() (keys []string) {
	for line := range strings.SplitSeq(settings.Table(), "\n") {
		if key, ok := strings.CutPrefix(line, "| `"); ok {
			key, _, _ = strings.Cut(key, "`")
			keys = append(keys, key)
		}
	}
	return keys
}

func TestTheDocumentationHasAllSettings(t *testing.T) {
	t.Parallel()

	content, err := os.ReadFile("../../docs/deployment.md")
	require.NoError(t, err)
	documented, err := settings.Document(string(content))
	require.NoError(t, err)
	require.Equal(t, documented, string(content), "run make settings")
	require.Greater(t, len(rows()), 50)
	require.Contains(t, documented, "| `lagTimeout` | `30s` |")
	require.Contains(t, documented, "| `scheduled` | `true` |")
	require.Contains(t, documented, "| `alarmLag` |  |")
	for _, key := range outboxcdk.FurtherKeys() {
		require.Contains(t, documented, "| `"+key+"` |")
	}
	require.Contains(t, documented, "| `migrateEvery` | `24h` |")
}

func TestTheMeaningsOfSettingsAreSentences(t *testing.T) {
	t.Parallel()

	for line := range strings.SplitSeq(settings.Table(), "\n") {
		if strings.HasPrefix(line, "| `") {
			require.Regexp(t, `\| [A-Z].*\. \|$`, line)
		}
	}
}

func TestADocumentWithoutMarkersIsLeftAlone(t *testing.T) {
	t.Parallel()

	_, err := settings.Document("# Deployment\n")
	require.ErrorContains(t, err, "no markers")
}
