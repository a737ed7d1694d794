package settings

import (
	"flag"

	"outboxrelay/infra/outboxcdk"
)

// sections declare all settings, with what they set and with its default.
func (s *Settings) sections() []*flag.FlagSet {
	p := &s.Props
	return []*flag.FlagSet{
		s.stack(), outbox(p), database(&p.Database), network(&p.Network), bus(&p.Bus), functions(p), alarms(&p.Alarms),
	}
}

func section(name string) *flag.FlagSet { return flag.NewFlagSet(name, flag.ContinueOnError) }

func (s *Settings) stack() *flag.FlagSet {
	f := section("Stack")
	f.StringVar(&s.StackName, "stackName", s.StackName, "name of the stack: another one for each outbox of an account and Region")
	f.Var(pairs{&s.Tags}, "tags", "tags of everything in the stack")
	return f
}

func outbox(p *outboxcdk.Props) *flag.FlagSet {
	f := section("Outbox")
	f.StringVar(&p.Name, "outboxName", p.Name, "tells this outbox from others: dimension of the metrics, field of the logs")
	f.StringVar(&p.Table, "outboxTable", p.Table, "its table or view, quoted as in SQL")
	f.StringVar(&p.Architecture, "architecture", p.Architecture, "of the functions: `arm64` or `x86_64`; they are built for it")
	f.StringVar(&p.BinaryDir, "binaryDir", p.BinaryDir, "where `<function>/bootstrap` is built already: an absolute path, or one from `infra/`")
	f.BoolVar(&p.Scheduled, "scheduled", p.Scheduled, "whether the schedules are on; off, nothing runs but `migrate` at the deployment")
	f.IntVar(&p.LogRetentionDays, "logRetentionDays", p.LogRetentionDays, "how long logs are kept: a number that CloudWatch knows, as 7, 14, 30, 90 or 365")
	return f
}

func database(d *outboxcdk.Database) *flag.FlagSet {
	f := section("Database")
	f.StringVar(&d.SecretArn, "databaseSecretArn", d.SecretArn, "complete ARN of a secret with `username` and `password`, and `host`, `port` and `dbname` where they are not set here")
	f.StringVar(&d.SecretKeyArn, "databaseSecretKeyArn", d.SecretKeyArn, "ARN of the customer managed KMS key of the secrets, if they have one")
	f.StringVar(&d.Host, "databaseHost", d.Host, "before what the secret says")
	f.IntVar(&d.Port, "databasePort", d.Port, "before what the secret says; the rules of security groups are for it, or for 5432")
	f.StringVar(&d.Name, "databaseName", d.Name, "before what the secret says")
	f.StringVar(&d.SSLMode, "databaseSslMode", d.SSLMode, "as libpq's `sslmode`; unset: `verify-full`")
	f.BoolVar(&d.IamAuth, "databaseIamAuth", d.IamAuth, "log in by RDS IAM instead of by a secret; needs `databaseHost`, `databaseName`, `databaseResourceId` and users")
	f.StringVar(&d.User, "databaseUser", d.User, "the user, with `databaseIamAuth`")
	f.StringVar(&d.ResourceID, "databaseResourceId", d.ResourceID, "with `databaseIamAuth`: the id `db-...`, `cluster-...` or `prx-...` of instance, cluster or proxy")
	f.StringVar(&d.MigrateHost, "migrateHost", d.MigrateHost, "the database itself where `databaseHost` is a pooler in transaction mode")
	for _, name := range outboxcdk.FunctionNames() {
		f.Var(member{&d.Secrets, name}, name+"SecretArn", "secret of `"+name+"`, instead of `databaseSecretArn`")
		f.Var(member{&d.Users, name}, name+"User", "user of `"+name+"`, instead of `databaseUser`")
	}
	return f
}

func network(n *outboxcdk.Network) *flag.FlagSet {
	f := section("Network")
	f.StringVar(&n.VpcID, "vpcId", n.VpcID, "VPC that the functions run in; unset: none")
	f.Var(list{&n.SubnetIDs}, "subnetIds", "its private subnets for them, best of two zones or more")
	f.Var(list{&n.SecurityGroupIDs}, "securityGroupIds", "their security groups; unset: one is made")
	f.StringVar(&n.DatabaseSecurityGroupID, "databaseSecurityGroupId", n.DatabaseSecurityGroupID, "the database's: gets a rule that lets the functions in")
	f.StringVar(&n.Egress, "egress", n.Egress, "how they reach AWS from there: `nat` (or another way to the internet), `endpoints` (made by this stack) or `existing-endpoints`")
	return f
}

func bus(b *outboxcdk.Bus) *flag.FlagSet {
	f := section("Bus")
	f.StringVar(&b.EventBus, "eventBus", b.EventBus, "name or ARN of the bus for rows without `topic`, which exists, also in another account; or else")
	f.StringVar(&b.NewEventBus, "newEventBus", b.NewEventBus, "name of a bus that is made")
	f.Var(list{&b.Topics}, "topics", "names and ARNs of all other buses that rows name in `topic`")
	f.IntVar(&b.ArchiveDays, "archiveDays", b.ArchiveDays, "keep what reaches the bus for so many days, for a replay; unset: not at all")
	return f
}

func functions(p *outboxcdk.Props) *flag.FlagSet {
	f := section("Functions")
	sizes := map[string]*outboxcdk.Function{
		"relay": &p.Relay.Function, "cleanup": &p.Cleanup, "lag": &p.Lag, "migrate": &p.Migrate.Function, "admin": &p.Admin,
	}
	for _, name := range outboxcdk.FunctionNames() {
		size := sizes[name]
		f.IntVar(&size.MemoryMB, name+"MemoryMb", size.MemoryMB, "from 128 to 10240; a CPU comes with 1769")
		f.DurationVar(&size.Timeout, name+"Timeout", size.Timeout, timeoutUsage[name])
		if name != "admin" {
			f.DurationVar(&size.Every, name+"Every", size.Every, everyUsage[name])
		}
	}
	f.IntVar(&p.Relay.Parallel, "relayParallel", p.Relay.Parallel, "how many relays are at work at once")
	f.IntVar(&p.Relay.ReservedConcurrency, "relayReservedConcurrency", p.Relay.ReservedConcurrency, "taken from the account's concurrency for the relay; unset: none")
	f.BoolVar(&p.Migrate.AtDeploy, "migrateAtDeploy", p.Migrate.AtDeploy, "run `migrate` whenever its code or settings have changed, before all else; if it fails, so does the deployment")
	return f
}

var (
	timeoutUsage = map[string]string{
		"relay":   "unset: `1m`, or with `RELAY_POLL_INTERVAL` two periods, `RELAY_RESERVE` and 10 seconds",
		"cleanup": "at most `15m`",
		"lag":     "at most `15m`",
		"migrate": "at most `14m` with `migrateAtDeploy`",
		"admin":   "at most `15m`",
	}
	everyUsage = map[string]string{
		"relay":   "whole minutes; at most `13m` with `RELAY_POLL_INTERVAL`",
		"cleanup": "whole minutes",
		"lag":     "whole minutes",
		"migrate": "whole minutes; only with `PARTITION_INTERVAL`",
	}
)

func alarms(a *outboxcdk.Alarms) *flag.FlagSet {
	f := section("Alarms")
	f.StringVar(&a.TopicArn, "alarmTopicArn", a.TopicArn, "SNS topic that is told; unset: one is made")
	f.StringVar(&a.Email, "alarmEmail", a.Email, "address that is subscribed to the topic that is made")
	f.BoolVar(&a.Encrypted, "alarmEncrypted", a.Encrypted, "encrypt the topic that is made, with a key of its own ($1 a month)")
	f.DurationVar(&a.Lag, "alarmLag", a.Lag, "how old the oldest unpublished event may be")
	f.StringVar(&a.RunbookURL, "runbookUrl", a.RunbookURL, "where your people read `docs/operation.md`")
	return f
}
