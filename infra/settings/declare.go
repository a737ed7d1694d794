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
	f.StringVar(&s.StackName, "stackName", s.StackName, "Name of the stack. Each outbox of an account and Region takes another one.")
	f.Var(pairs{&s.Tags}, "tags", "Tags of everything in the stack, at most 50.")
	return f
}

func outbox(p *outboxcdk.Props) *flag.FlagSet {
	f := section("Outbox")
	f.StringVar(&p.Name, "outboxName", p.Name, "Tells this outbox from others, as dimension of the metrics and field of the logs.")
	f.StringVar(&p.Table, "outboxTable", p.Table, "Table or view of the outbox, quoted as in SQL.")
	f.StringVar(&p.Architecture, "architecture", p.Architecture, "What the functions are built for and run on, `arm64` or `x86_64`.")
	f.StringVar(&p.BinaryDir, "binaryDir", p.BinaryDir, "Directory in which `<function>/bootstrap` is built already, absolute or from `infra/`. Unset: they are built.")
	f.Var(boolean{&p.Scheduled}, "scheduled", "Whether the schedules are on. Off, nothing runs but `migrate` at the deployment.")
	f.IntVar(&p.LogRetentionDays, "logRetentionDays", p.LogRetentionDays, "How long logs are kept. CloudWatch knows certain numbers, as 7, 14, 30, 90 and 365.")
	return f
}

func database(d *outboxcdk.Database) *flag.FlagSet {
	f := section("Database")
	f.StringVar(&d.SecretArn, "databaseSecretArn", d.SecretArn, "Complete ARN of a secret with `username` and `password`, and with `host`, `port` and `dbname` where they are not set here.")
	f.StringVar(&d.SecretKeyArn, "databaseSecretKeyArn", d.SecretKeyArn, "ARN of the customer managed KMS key of the secrets, if they have one.")
	f.StringVar(&d.Host, "databaseHost", d.Host, "Host of the database or of its pooler. Unset: the secret has it.")
	f.IntVar(&d.Port, "databasePort", d.Port, "Port of `databaseHost`. Unset: the secret has it, and the rules of security groups are for 5432.")
	f.StringVar(&d.Name, "databaseName", d.Name, "Name of the database. Unset: the secret has it.")
	f.StringVar(&d.SSLMode, "databaseSslMode", d.SSLMode, "As libpq's `sslmode`. Unset: `verify-full`.")
	f.Var(boolean{&d.IamAuth}, "databaseIamAuth", "Log in by RDS IAM instead of by a secret. It takes `databaseHost`, `databaseName`, `databaseResourceId` and users.")
	f.StringVar(&d.User, "databaseUser", d.User, "User that functions log in as, with `databaseIamAuth`.")
	f.StringVar(&d.ResourceID, "databaseResourceId", d.ResourceID, "Resource id of instance, cluster or proxy, `db-...`, `cluster-...` or `prx-...`, with `databaseIamAuth`.")
	f.StringVar(&d.MigrateHost, "migrateHost", d.MigrateHost, "Host of the database itself, for `migrate`, where `databaseHost` is a pooler in transaction mode.")
	f.IntVar(&d.MigratePort, "migratePort", d.MigratePort, "Port of `migrateHost`. Unset: that of `databaseHost`.")
	f.StringVar(&d.MigrateResourceID, "migrateResourceId", d.MigrateResourceID, "Resource id of `migrateHost`, with `databaseIamAuth`. Unset: `databaseResourceId`, unless that is a proxy's.")
	for _, name := range outboxcdk.FunctionNames() {
		f.Var(member{&d.Secrets, name}, name+"SecretArn", "Secret of `"+name+"`, instead of `databaseSecretArn`.")
		f.Var(member{&d.Users, name}, name+"User", "User of `"+name+"`, instead of `databaseUser`.")
	}
	return f
}

func network(n *outboxcdk.Network) *flag.FlagSet {
	f := section("Network")
	f.StringVar(&n.VpcID, "vpcId", n.VpcID, "VPC that the functions run in. Unset: none.")
	f.Var(list{&n.SubnetIDs}, "subnetIds", "Private subnets of the VPC for the functions, best of two zones or more. With `egress=endpoints` one subnet a zone: EC2 refuses two.")
	f.Var(list{&n.SecurityGroupIDs}, "securityGroupIds", "Security groups of the functions. Unset: one is made.")
	f.StringVar(&n.DatabaseSecurityGroupID, "databaseSecurityGroupId", n.DatabaseSecurityGroupID, "Security group of the database. It gets a rule that lets the functions in.")
	f.StringVar(&n.MigrateSecurityGroupID, "migrateSecurityGroupId", n.MigrateSecurityGroupID, "Security group of `migrateHost`. Unset: `databaseSecurityGroupId`.")
	f.StringVar(&n.Egress, "egress", n.Egress, "How the functions reach AWS from the VPC: by `nat` (or another way to the internet), `endpoints` (made by this stack) or `existing-endpoints`.")
	return f
}

func bus(b *outboxcdk.Bus) *flag.FlagSet {
	f := section("Bus")
	f.StringVar(&b.EventBus, "eventBus", b.EventBus, "Name or ARN of a bus that exists, also in another account. It gets the rows without `topic`.")
	f.StringVar(&b.NewEventBus, "newEventBus", b.NewEventBus, "Name of a bus that is made, instead of `eventBus`.")
	f.Var(list{&b.Topics}, "topics", "Names and ARNs of all other buses that rows name in `topic`: as many as the relay's policy has room for, 60 with names of 30 characters.")
	f.IntVar(&b.ArchiveDays, "archiveDays", b.ArchiveDays, "How many days what reaches the bus is kept for a replay. Unset: it is not.")
	return f
}

func functions(p *outboxcdk.Props) *flag.FlagSet {
	f := section("Functions")
	sizes := map[string]*outboxcdk.Function{
		"relay": &p.Relay.Function, "cleanup": &p.Cleanup, "lag": &p.Lag, "migrate": &p.Migrate.Function, "admin": &p.Admin,
	}
	for _, name := range outboxcdk.FunctionNames() {
		size := sizes[name]
		f.IntVar(&size.MemoryMB, name+"MemoryMb", size.MemoryMB, "Memory, from 128 to 10240. A CPU comes with 1769.")
		f.DurationVar(&size.Timeout, name+"Timeout", size.Timeout, timeoutUsage[name])
		if name != "admin" {
			f.DurationVar(&size.Every, name+"Every", size.Every, everyUsage[name])
		}
	}
	f.IntVar(&p.Relay.Parallel, "relayParallel", p.Relay.Parallel, "How many relays are at work at once, from 1 to 64.")
	f.IntVar(&p.Relay.ReservedConcurrency, "relayReservedConcurrency", p.Relay.ReservedConcurrency, "What is taken from the account's concurrency for the relay. Unset: nothing.")
	f.Var(boolean{&p.Migrate.AtDeploy}, "migrateAtDeploy", "Run `migrate` whenever its code or settings have changed, before all else. If it fails, so does the deployment.")
	return f
}

var (
	timeoutUsage = map[string]string{
		"relay":   "Time limit, from `1s` to `15m`. Unset: `1m`, or with `RELAY_POLL_INTERVAL` two periods, `RELAY_RESERVE` and 10 seconds. Leave it unset when polling: a shorter one would leave gaps between runs, and is refused.",
		"cleanup": "Time limit, from `1s` to `15m`.",
		"lag":     "Time limit, from `1s` to `15m`.",
		"migrate": "Time limit, from `1s` to `15m`, or `14m` with `migrateAtDeploy`.",
		"admin":   "Time limit, from `1s` to `15m`.",
	}
	everyUsage = map[string]string{
		"relay":   "How often it is invoked, in whole minutes from `1m` to `24h`, or `13m` with `RELAY_POLL_INTERVAL` and the default of `RELAY_RESERVE`.",
		"cleanup": "How often it is invoked, in whole minutes from `1m` to `24h`.",
		"lag":     "How often it is invoked, in whole minutes from `1m` to `24h`.",
		"migrate": "How often it is invoked, in whole minutes from `1m` to `24h`. Only with `PARTITION_INTERVAL`, which is for an outbox that `migrate` makes: on one that exists without partitions it fails the deployment.",
	}
)

func alarms(a *outboxcdk.Alarms) *flag.FlagSet {
	f := section("Alarms")
	f.StringVar(&a.TopicArn, "alarmTopicArn", a.TopicArn, "ARN of the SNS topic that is told. Unset: one is made.")
	f.StringVar(&a.Email, "alarmEmail", a.Email, "Address that is subscribed to the topic that is made.")
	f.Var(boolean{&a.Encrypted}, "alarmEncrypted", "Encrypt the topic that is made, with a key of its own ($1 a month).")
	f.DurationVar(&a.Lag, "alarmLag", a.Lag, "How old the oldest unpublished event may be, up to `72h`. Unset: `5m`, or two periods of `relayEvery` and two minutes where that is longer. At least a period and a minute: an event may wait so long while all is well. With `RELAY_POLL_INTERVAL` it does not, so that `5m` is the default and `1m` the least.")
	f.StringVar(&a.RunbookURL, "runbookUrl", a.RunbookURL, "Where your people read `docs/operation.md`.")
	return f
}
