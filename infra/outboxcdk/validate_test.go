package outboxcdk_test

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"outboxrelay/infra/outboxcdk"
)

func TestTheVariantsAreValid(t *testing.T) {
	for name, props := range map[string]outboxcdk.Props{
		"minimal": minimalProps(), "everything": everythingProps(), "by IAM": iamProps(), "proxied": proxiedProps(), "in a VPC": inVpcProps(),
	} {
		t.Run(name, func(t *testing.T) { require.NoError(t, props.Validate()) })
	}
}

// inVpcProps is valid and has little.
func inVpcProps() outboxcdk.Props {
	props := minimalProps()
	props.Network = outboxcdk.Network{VpcID: "vpc-0000000a", SubnetIDs: []string{"subnet-0000000a"}, Egress: "nat"}
	return props
}

// filled is the minimal environment with as much more as Lambda takes, and a little.
// It is what the relay gets, as JSON.
func filled(over int) func(*outboxcdk.Props) {
	const has = `{"DATABASE_SECRET_ARN":"` + secretArn + `","EVENT_BUS":"orders","FILLER":"","OUTBOX_NAME":"outbox","OUTBOX_TABLE":"public.outbox"}`
	return func(p *outboxcdk.Props) { p.Environment["FILLER"] = strings.Repeat("<", 4096-len(has)+over) }
}

func TestTakesAsLargeAnEnvironmentAsLambdaDoes(t *testing.T) {
	props := minimalProps()
	filled(0)(&props)
	require.NoError(t, props.Validate())
	props.Database.SecretArn = "${Token[Secret.1]}" // known later, and likely to be longer
	require.ErrorContains(t, props.Validate(), "environment of relay is 41")
}

func TestTakesTheFormsThatTheLibrariesTake(t *testing.T) {
	for key, texts := range map[string][]string{
		"AWS_ENDPOINT_URL": {"http://127.0.0.1:4566", "https://proxy.example/aws"}, "AWS_USE_FIPS_ENDPOINT": {"true", "false", ""},
		"GODEBUG": {"http2client=0", "gctrace=1,madvdontneed=1"}, "GOGC": {"off", "50"},
		"GOMEMLIMIT": {"off", "209715200", "100B", "200MiB", "1GiB"}, "PGSSLROOTCERT": {"system", "/var/task/bundle.pem"},
	} {
		for _, text := range texts {
			props := minimalProps()
			props.Environment[key] = text
			require.NoError(t, props.Validate(), "%s=%s", key, text)
		}
	}
}

func TestEndpointsOfOnesOwnMayHaveOtherNames(t *testing.T) {
	for _, egress := range []string{"nat", "existing-endpoints"} {
		props := inVpcProps()
		props.Network.Egress, props.Environment["AWS_USE_FIPS_ENDPOINT"] = egress, "true"
		require.NoError(t, props.Validate())
	}
	props := everythingProps()
	props.Environment["AWS_USE_FIPS_ENDPOINT"] = "false"
	require.NoError(t, props.Validate())
}

func TestRefuses(t *testing.T) {
	type change = func(*outboxcdk.Props)
	environment := func(key, text string) change {
		return func(p *outboxcdk.Props) { p.Environment[key] = text }
	}
	for problem, refused := range map[string]struct {
		valid  func() outboxcdk.Props
		change change
	}{
		`architecture is "arm": expected arm64 or x86_64`: {minimalProps, func(p *outboxcdk.Props) { p.Architecture = "arm" }},
		"logRetentionDays is 8: expected one of 1 3 5 7":  {minimalProps, func(p *outboxcdk.Props) { p.LogRetentionDays = 8 }},
		`outboxName is "": expected 1 to 255`:             {minimalProps, func(p *outboxcdk.Props) { p.Name = "" }},
		`x": expected at most 64 characters`:              {minimalProps, func(p *outboxcdk.Props) { p.Name = strings.Repeat("x", 65) }},
		`outboxTable is "a.b.c": expected`:                {minimalProps, func(p *outboxcdk.Props) { p.Table = "a.b.c" }},

		"databaseSecretArn is not set, and relay, cleanup, lag, migrate, admin have no secret of their own": {
			minimalProps, func(p *outboxcdk.Props) { p.Database.SecretArn = "" },
		},
		"databaseSecretArn is not set, and relay, cleanup, lag, admin have no": {
			everythingProps, func(p *outboxcdk.Props) { p.Database.SecretArn = "" },
		},
		"databaseSecretArn (not shown) is no complete ARN of a secret": {minimalProps, func(p *outboxcdk.Props) { p.Database.SecretArn = "hunter2" }},
		"migrateSecretArn (not shown) is no complete ARN of a secret": {everythingProps, func(p *outboxcdk.Props) {
			p.Database.Secrets["migrate"] = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/owner" // without its suffix
		}},
		`Database.Secrets has "bench": expected one of relay,`:                    {minimalProps, func(p *outboxcdk.Props) { p.Database.Secrets = map[string]string{"bench": secretArn} }},
		`databaseSecretKeyArn is "alias/shop": expected`:                          {minimalProps, func(p *outboxcdk.Props) { p.Database.SecretKeyArn = "alias/shop" }},
		"databaseUser is set: expected it not to be without":                      {minimalProps, func(p *outboxcdk.Props) { p.Database.User = "relay" }},
		"lagUser is set: expected it not to be without":                           {minimalProps, func(p *outboxcdk.Props) { p.Database.Users = map[string]string{"lag": "lag"} }},
		"databaseResourceId is set: expected it not to be":                        {minimalProps, func(p *outboxcdk.Props) { p.Database.ResourceID = "db-A" }},
		"databasePort is 65536: expected a port":                                  {minimalProps, func(p *outboxcdk.Props) { p.Database.Port = 65536 }},
		"migratePort is -1: expected a port":                                      {everythingProps, func(p *outboxcdk.Props) { p.Database.MigratePort = -1 }},
		"migrateResourceId is set: expected it not to be without databaseIamAuth": {everythingProps, func(p *outboxcdk.Props) { p.Database.MigrateResourceID = "db-A" }},
		"migrateResourceId is set: expected it not to be without migrateHost":     {iamProps, func(p *outboxcdk.Props) { p.Database.MigrateResourceID = "db-A" }},
		`migrateResourceId is "shop": expected the resource id`:                   {proxiedProps, func(p *outboxcdk.Props) { p.Database.MigrateResourceID = "shop" }},
		"migrateResourceId is not set, and databaseResourceId is a proxy's: expected the resource id of the database at migrateHost": {
			proxiedProps, func(p *outboxcdk.Props) { p.Database.MigrateResourceID = "" },
		},
		"databaseSecretArn is not set, and migrate has no secret of its own: expected": {minimalProps, func(p *outboxcdk.Props) {
			p.Database = outboxcdk.Database{Secrets: map[string]string{"relay": secretArn, "cleanup": secretArn, "lag": secretArn, "admin": secretArn}}
		}},
		`databaseHost is "db.example:5432": expected the name`: {minimalProps, func(p *outboxcdk.Props) { p.Database.Host = "db.example:5432" }},
		"databaseSslMode is": {minimalProps, func(p *outboxcdk.Props) { p.Database.SSLMode = "prefer" }},
		"databaseSecretArn is set: expected it not to be with":                 {iamProps, func(p *outboxcdk.Props) { p.Database.SecretArn = secretArn }},
		"databaseHost is not set: databaseIamAuth needs it":                    {iamProps, func(p *outboxcdk.Props) { p.Database.Host = "" }},
		"databaseName is not set: databaseIamAuth needs it":                    {iamProps, func(p *outboxcdk.Props) { p.Database.Name = "" }},
		"databaseResourceId is not set: databaseIamAuth":                       {iamProps, func(p *outboxcdk.Props) { p.Database.ResourceID = "" }},
		`databaseResourceId is "shop": expected the resource`:                  {iamProps, func(p *outboxcdk.Props) { p.Database.ResourceID = "shop" }},
		"databaseUser is not set, and relay, cleanup, lag, admin have no user": {iamProps, func(p *outboxcdk.Props) { p.Database.User = "" }},
		`databaseUser is "*": expected a user's name`:                          {iamProps, func(p *outboxcdk.Props) { p.Database.User = "*" }},

		"subnetIds is not set: vpcId needs":                                        {inVpcProps, func(p *outboxcdk.Props) { p.Network.SubnetIDs = nil }},
		"egress is not set: expected nat":                                          {inVpcProps, func(p *outboxcdk.Props) { p.Network.Egress = "" }},
		`egress is "none": expected nat`:                                           {inVpcProps, func(p *outboxcdk.Props) { p.Network.Egress = "none" }},
		`vpcId is "shop": expected vpc- and 8 or 17 hex digits`:                    {inVpcProps, func(p *outboxcdk.Props) { p.Network.VpcID = "shop" }},
		`subnetIds is "sub": expected each of them to be subnet- and`:              {inVpcProps, func(p *outboxcdk.Props) { p.Network.SubnetIDs = []string{"sub"} }},
		`securityGroupIds is "group": expected`:                                    {inVpcProps, func(p *outboxcdk.Props) { p.Network.SecurityGroupIDs = []string{"group"} }},
		`databaseSecurityGroupId is "sg-0db": expected sg- and 8 or 17 hex digits`: {inVpcProps, func(p *outboxcdk.Props) { p.Network.DatabaseSecurityGroupID = "sg-0db" }},
		`databaseSecurityGroupId is "sg-0123456789": expected sg-`:                 {inVpcProps, func(p *outboxcdk.Props) { p.Network.DatabaseSecurityGroupID = "sg-0123456789" }},
		`migrateSecurityGroupId is "sg-0db": expected sg- and 8`:                   {inVpcProps, func(p *outboxcdk.Props) { p.Network.MigrateSecurityGroupID = "sg-0db" }},
		"subnetIds is set: expected it not to be without":                          {minimalProps, func(p *outboxcdk.Props) { p.Network.SubnetIDs = []string{"subnet-0000000a"} }},
		"egress is set: expected it not to be without":                             {minimalProps, func(p *outboxcdk.Props) { p.Network.Egress = "nat" }},
		"migrateSecurityGroupId is set: expected it not":                           {minimalProps, func(p *outboxcdk.Props) { p.Network.MigrateSecurityGroupID = "sg-0000000d" }},
		"databaseSecurityGroupId is set: expected it not":                          {minimalProps, func(p *outboxcdk.Props) { p.Network.DatabaseSecurityGroupID = "sg-0000000d" }},
		"securityGroupIds is set: expected it not to be":                           {minimalProps, func(p *outboxcdk.Props) { p.Network.SecurityGroupIDs = []string{"sg-0000000d"} }},

		"eventBus is not set: expected the name":         {minimalProps, func(p *outboxcdk.Props) { p.Bus.EventBus = "" }},
		"eventBus is set as well as newEventBus":         {minimalProps, func(p *outboxcdk.Props) { p.Bus.NewEventBus = "orders" }},
		`eventBus is "!": expected the name or ARN`:      {minimalProps, func(p *outboxcdk.Props) { p.Bus.EventBus = "!" }},
		`topics is "!": expected the name or ARN`:        {minimalProps, func(p *outboxcdk.Props) { p.Bus.Topics = []string{"!"} }},
		`newEventBus is "default": that bus exists`:      {minimalProps, func(p *outboxcdk.Props) { p.Bus = outboxcdk.Bus{NewEventBus: "default"} }},
		`newEventBus is "a/b": expected a name`:          {minimalProps, func(p *outboxcdk.Props) { p.Bus = outboxcdk.Bus{NewEventBus: "a/b"} }},
		"archiveDays is -1":                              {minimalProps, func(p *outboxcdk.Props) { p.Bus.ArchiveDays = -1 }},
		"archiveDays is set: expected a bus of this":     {minimalProps, func(p *outboxcdk.Props) { p.Bus = outboxcdk.Bus{EventBus: foreignBusArn, ArchiveDays: 1} }},
		"eventBus is in us-east-1 and databaseSecretArn": {minimalProps, func(p *outboxcdk.Props) { p.Bus.EventBus = "arn:aws:events:us-east-1:210987654321:event-bus/audit" }},

		"relayMemoryMb is 64: expected from 128":                                                     {minimalProps, func(p *outboxcdk.Props) { p.Relay.MemoryMB = 64 }},
		"lagTimeout is 0s: expected whole seconds":                                                   {minimalProps, func(p *outboxcdk.Props) { p.Lag.Timeout = 0 }},
		"cleanupTimeout is 16m: expected whole seconds":                                              {minimalProps, func(p *outboxcdk.Props) { p.Cleanup.Timeout = 16 * time.Minute }},
		"relayEvery is 30s: expected whole minutes":                                                  {minimalProps, func(p *outboxcdk.Props) { p.Relay.Every = 30 * time.Second }},
		"migrateTimeout is 15m: expected at most 14m with":                                           {minimalProps, func(p *outboxcdk.Props) { p.Migrate.Timeout = 15 * time.Minute }},
		"relayTimeout is 11s: expected more than 11s":                                                {minimalProps, func(p *outboxcdk.Props) { p.Relay.Timeout = 11 * time.Second }},
		`relayParallel is "0": expected a whole number from 1 to 64`:                                 {minimalProps, func(p *outboxcdk.Props) { p.Relay.Parallel = 0 }},
		`relayParallel is "65": expected a whole number from 1 to 64`:                                {minimalProps, func(p *outboxcdk.Props) { p.Relay.Parallel = 65 }},
		"relayReservedConcurrency is 1: expected 0 for":                                              {minimalProps, func(p *outboxcdk.Props) { p.Relay.Parallel, p.Relay.ReservedConcurrency = 2, 1 }},
		"relayReservedConcurrency is 3: expected 0 for":                                              {everythingProps, func(p *outboxcdk.Props) { p.Relay.ReservedConcurrency = 3 }},
		"relayEvery is 14m: expected at most 13m with RELAY_POLL_INTERVAL and a RELAY_RESERVE of 7s": {everythingProps, func(p *outboxcdk.Props) { p.Relay.Every = 14 * time.Minute }},
		"relayEvery is 9m: expected at most 8m with RELAY_POLL_INTERVAL and a RELAY_RESERVE of 5m": {everythingProps, func(p *outboxcdk.Props) {
			p.Relay.Every, p.Environment["RELAY_RESERVE"] = 9*time.Minute, "5m"
		}},
		"relayTimeout is 2m16s: expected it unset with RELAY_POLL_INTERVAL, or at least 2m17s": {everythingProps, func(p *outboxcdk.Props) { p.Relay.Timeout = 136 * time.Second }},
		"relayTimeout is 500ms: expected whole seconds from 1s to 15m":                         {everythingProps, func(p *outboxcdk.Props) { p.Relay.Timeout = 500 * time.Millisecond }},
		"relayEvery is 48h: expected whole minutes from 1m to 24h":                             {everythingProps, func(p *outboxcdk.Props) { p.Relay.Every = 48 * time.Hour }},
		`alarmTopicArn is "topic": expected the ARN`:                                           {minimalProps, func(p *outboxcdk.Props) { p.Alarms.TopicArn = "topic" }},
		"alarmEmail is set: expected it not to be with": {everythingProps, func(p *outboxcdk.Props) {
			p.Alarms.TopicArn, p.Alarms.Encrypted = "arn:aws:sns:eu-west-1:123456789012:a", false
		}},
		"of at most 500 characters":                                                     {minimalProps, func(p *outboxcdk.Props) { p.Alarms.RunbookURL = "https://" + strings.Repeat("x", 501) }},
		`runbookUrl is "docs": expected a URL`:                                          {minimalProps, func(p *outboxcdk.Props) { p.Alarms.RunbookURL = "docs" }},
		"alarmLag is 1s: expected from 1m to 72h, or it unset":                          {minimalProps, func(p *outboxcdk.Props) { p.Alarms.Lag = time.Second }},
		"alarmLag is 73h: expected from 1m to 72h, or it unset":                         {minimalProps, func(p *outboxcdk.Props) { p.Alarms.Lag = 73 * time.Hour }},
		"alarmLag is 1m30s: expected it unset, or at least 2m, relayEvery and a minute": {minimalProps, func(p *outboxcdk.Props) { p.Alarms.Lag = 90 * time.Second }},
		"alarmLag is 5m: expected it unset, or at least 16m, relayEvery": {minimalProps, func(p *outboxcdk.Props) {
			p.Relay.Every, p.Alarms.Lag = 15*time.Minute, 5*time.Minute
		}},
		"EVENT_BUS is set: expected eventBus instead":       {minimalProps, environment("EVENT_BUS", "orders")},
		"DATABASE_URL is set: expected databaseHost":        {minimalProps, environment("DATABASE_URL", "host=db")},
		"PGPASSWORD is set: expected databaseSecretArn":     {minimalProps, environment("PGPASSWORD", "hunter2")},
		"EVENT_ENDPOINT_ID is set: a global endpoint takes": {minimalProps, environment("EVENT_ENDPOINT_ID", "abcde.veo")},

		// What the functions' libraries would refuse, at each start.
		`AWS_ENDPOINT_URL is "localhost:4566": expected a URL that begins with https:// or http://`: {minimalProps, environment("AWS_ENDPOINT_URL", "localhost:4566")},
		`AWS_ENDPOINT_URL_EVENTBRIDGE is "ftp://a": expected a URL`:                                 {minimalProps, environment("AWS_ENDPOINT_URL_EVENTBRIDGE", "ftp://a")},
		`AWS_ENDPOINT_URL_SECRETS_MANAGER is "https://": expected a URL`:                            {minimalProps, environment("AWS_ENDPOINT_URL_SECRETS_MANAGER", "https://")},
		`AWS_USE_DUALSTACK_ENDPOINT is "ja": expected true or false`:                                {minimalProps, environment("AWS_USE_DUALSTACK_ENDPOINT", "ja")},
		`AWS_USE_FIPS_ENDPOINT is "1": expected true or false`:                                      {minimalProps, environment("AWS_USE_FIPS_ENDPOINT", "1")},
		`GOMEMLIMIT is "200MB": expected a size such as 200MiB, or off`:                             {minimalProps, environment("GOMEMLIMIT", "200MB")},
		`GOGC is "100%": expected a percentage such as 100, or off`:                                 {minimalProps, environment("GOGC", "100%")},
		`GODEBUG is "http2client": expected name=value, with commas between`:                        {minimalProps, environment("GODEBUG", "http2client")},
		`PGSSLROOTCERT is "bundle.pem": expected system, or a file by its whole`:                    {minimalProps, environment("PGSSLROOTCERT", "bundle.pem")},
		"AWS_REGION is set: expected it not to be, since Lambda sets it":                            {minimalProps, environment("AWS_REGION", "eu-west-1")},
		`environment has the key "A-B": expected a letter, then`:                                    {minimalProps, environment("A-B", "")},
		"environment of relay is 4097 bytes as JSON, with all that is added to it: expected":        {minimalProps, filled(1)},
		"4096, which Lambda takes. The longest is FILLER":                                           {minimalProps, filled(5)},
		"AWS_USE_FIPS_ENDPOINT is true: expected it not to be with egress=endpoints.":               {everythingProps, environment("AWS_USE_FIPS_ENDPOINT", "true")},
		"AWS_USE_DUALSTACK_ENDPOINT is true: expected it not to be with egress=endpoints.":          {everythingProps, environment("AWS_USE_DUALSTACK_ENDPOINT", "true")},

		// What AWS would refuse, half-way through the deployment.
		"databaseHost has 254 characters: expected the name of a host, which has at most 253": {minimalProps, func(p *outboxcdk.Props) { p.Database.Host = strings.Repeat("h", 254) }},
		"migrateHost has 300 characters: expected the name of a host":                         {minimalProps, func(p *outboxcdk.Props) { p.Database.MigrateHost = strings.Repeat("h", 300) }},
		"subnetIds has subnet-0000000a twice: expected each":                                  {inVpcProps, func(p *outboxcdk.Props) { p.Network.SubnetIDs = []string{"subnet-0000000a", "subnet-0000000a"} }},
		"securityGroupIds has sg-0000000b twice: expected": {inVpcProps, func(p *outboxcdk.Props) {
			p.Network.SecurityGroupIDs = []string{"sg-0000000b", "sg-0000000a", "sg-0000000b"}
		}},
		"topics has billing twice: expected each": {minimalProps, func(p *outboxcdk.Props) { p.Bus.Topics = []string{"billing", "billing"} }},

		// What the functions themselves would refuse, in the same words.
		`RELAY_BATCH_SIZE is "many": expected a whole number from 1 to 10000`: {minimalProps, environment("RELAY_BATCH_SIZE", "many")},
		`CLEANUP_RETENTION is "7d": expected a duration`:                      {minimalProps, environment("CLEANUP_RETENTION", "7d")},
		`LAG_COUNT_LIMIT is "0": expected`:                                    {minimalProps, environment("LAG_COUNT_LIMIT", "0")},
		`PARTITION_INTERVAL is "hour": expected one of`:                       {minimalProps, environment("PARTITION_INTERVAL", "hour")},
		"RELAY_BATCHSIZE is no setting: did you mean RELAY_BATCH_SIZE?":       {minimalProps, environment("RELAY_BATCHSIZE", "1")},
	} {
		t.Run(problem, func(t *testing.T) {
			props := refused.valid()
			if props.Validate() != nil {
				t.Skip("nothing follows from props that are wrong already, as TestTheVariantsAreValid says")
			}
			refused.change(&props)
			err := props.Validate()
			require.ErrorContains(t, err, problem)
			require.Len(t, strings.Split(err.Error(), "\n"), 1, "one problem")
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestNamesEveryProblemAtOnce(t *testing.T) {
	props := outboxcdk.Props{Environment: map[string]string{"RELAY_BATCH_SIZE": "0"}}
	err := props.Validate()
	for _, problem := range []string{"relayParallel ", "logRetentionDays ", "architecture ", "databaseSecretArn ", "eventBus ", "relayMemoryMb ", "outboxTable ", "RELAY_BATCH_SIZE "} {
		require.ErrorContains(t, err, problem)
	}
}

func TestOneWrongKeyOfTheEnvironmentHidesNoOtherProblem(t *testing.T) {
	props := minimalProps()
	props.Environment["CLEANUP_RETENTION"], props.Environment["RELAY_RESERVE"] = "7d", "much"
	props.Relay.ReservedConcurrency, props.Relay.Timeout = -1, 6*time.Second
	err := props.Validate()
	require.ErrorContains(t, err, "CLEANUP_RETENTION is")
	require.ErrorContains(t, err, "RELAY_RESERVE is")
	require.ErrorContains(t, err, "relayReservedConcurrency is -1")
	require.NotContains(t, err.Error(), "relayTimeout", "nobody knows with which reserve")
}

func TestAPollingRelayMayHaveATimeoutThatLeavesNoGap(t *testing.T) {
	for every, timeout := range map[time.Duration]time.Duration{
		// A run works until its reserve begins; the next one is invoked up to a minute late and takes 10 s to be at work.
		time.Minute:      time.Minute + time.Minute + 10*time.Second + 7*time.Second,
		13 * time.Minute: 13*time.Minute + time.Minute + 10*time.Second + 7*time.Second,
	} {
		props := everythingProps()
		props.Relay.Every, props.Relay.Timeout = every, timeout
		require.NoError(t, props.Validate())
		props.Relay.Timeout -= time.Second
		require.ErrorContains(t, props.Validate(), "or at least "+strings.TrimSuffix(timeout.String(), "0s"))
	}
}

func TestTakesWhatIsKnownOnlyAtTheDeployment(t *testing.T) {
	props := everythingProps()
	parameter := func(id string) string {
		stack := awscdk.NewStack(newApp(), jsii.String("Other"+id), nil)
		return *awscdk.NewCfnParameter(stack, jsii.String(id), nil).ValueAsString()
	}
	token := parameter("Any")
	props.Database.SecretArn, props.Database.SecretKeyArn, props.Database.Host, props.Database.Name = token, token, token, token
	props.Database.Secrets["migrate"], props.Database.MigrateHost = token, token
	props.Network.VpcID, props.Network.SubnetIDs, props.Network.DatabaseSecurityGroupID = token, []string{token}, token
	props.Network.MigrateSecurityGroupID = token
	props.Bus = outboxcdk.Bus{EventBus: token, Topics: []string{token}, ArchiveDays: 1}
	props.Environment["EVENT_SOURCE"] = token
	require.NoError(t, props.Validate())
}

func TestRefusesARNsOfAnotherRegionThanTheStacks(t *testing.T) {
	stack := awscdk.NewStack(newApp(), jsii.String("Test"), &awscdk.StackProps{Env: region("us-east-1")})
	require.PanicsWithError(t, "databaseSecretArn is in eu-west-1: expected the Region of the stack, us-east-1", func() {
		outboxcdk.NewOutboxRelay(stack, "Outbox", minimalProps())
	})
}

func TestRefusesAllARNsOfAnotherRegionAtOnce(t *testing.T) {
	stack := awscdk.NewStack(newApp(), jsii.String("Test"), &awscdk.StackProps{Env: region("us-east-1")})
	require.PanicsWithError(t, "databaseSecretArn is in eu-west-1: expected the Region of the stack, us-east-1\n"+
		"migrateSecretArn is in eu-west-1: expected the Region of the stack, us-east-1", func() {
		props := minimalProps()
		props.Database.Secrets = map[string]string{"migrate": ownerSecretArn}
		outboxcdk.NewOutboxRelay(stack, "Outbox", props)
	})
}

func TestRefusesIsolatedSubnetsWithoutEndpoints(t *testing.T) {
	stack := awscdk.NewStack(newApp(), jsii.String("Test"), nil)
	props := minimalProps()
	props.Network.Vpc = awsec2.NewVpc(stack, jsii.String("Vpc"), &awsec2.VpcProps{
		MaxAzs: jsii.Number(2), NatGateways: jsii.Number(0),
		SubnetConfiguration: &[]*awsec2.SubnetConfiguration{{Name: jsii.String("isolated"), SubnetType: awsec2.SubnetType_PRIVATE_ISOLATED}},
	})
	props.Network.Subnets = &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PRIVATE_ISOLATED}
	props.Network.Egress = "nat"
	require.PanicsWithError(t, "egress is nat, but among Network.Subnets are isolated ones, which have no way out: "+
		"expected others, or endpoints or existing-endpoints", func() { outboxcdk.NewOutboxRelay(stack, "Outbox", props) })
	props.Network.Egress = "endpoints"
	require.NotPanics(t, func() { outboxcdk.NewOutboxRelay(stack, "Other", props) })
}

func TestRefusesBinariesThatTheFunctionsCouldNotRun(t *testing.T) {
	refused := func(change func(bootstrap string) error) error {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(placeholders(elf.EM_AARCH64))))
		require.NoError(t, change(filepath.Join(dir, "lag", "bootstrap")))
		props := minimalProps()
		props.BinaryDir = dir
		return props.Validate()
	}
	require.NoError(t, refused(func(string) error { return nil }))
	require.ErrorContains(t, refused(os.Remove), "lag/bootstrap: build it with make build")
	require.ErrorContains(t, refused(func(path string) error { return os.Chmod(path, 0o644) }), "lag/bootstrap may not be executed")
	require.ErrorContains(t, refused(func(path string) error { return os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755) }),
		"lag/bootstrap is no Linux binary")
	require.ErrorContains(t, refused(func(path string) error { return os.WriteFile(path, header(elf.EM_X86_64), 0o755) }),
		"lag/bootstrap is for EM_X86_64, and the functions are arm64: build it with make build GOARCH=arm64, or set architecture")
}
