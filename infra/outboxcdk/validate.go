package outboxcdk

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"outboxrelay/internal/config"
)

// Validate returns everything that is wrong with the props, a line for each
// problem, by the names that settings have: databaseSecretArn is
// Database.SecretArn, and so on.
func (p Props) Validate() error {
	c := &checker{}
	c.outbox(p)
	c.database(p.Database)
	c.network(p.Network)
	c.bus(p.Bus)
	c.sizes(p)
	c.alarms(p.Alarms)
	c.environment(p.Environment)
	settings, err := p.read()
	c.functions(err)
	if err == nil {
		c.relay(p, settings)
	}
	c.regions(p)
	return errors.Join(c.problems...)
}

// checker collects problems.
type checker struct{ problems []error }

// add notes a problem; nil is none.
func (c *checker) add(err error) {
	if err != nil {
		c.problems = append(c.problems, err)
	}
}

// report notes a problem with a setting.
func (c *checker) report(setting, format string, args ...any) {
	c.add(errors.New(setting + " " + fmt.Sprintf(format, args...)))
}

// match notes a problem with a text that is given, known and not as it has to be.
func (c *checker) match(setting, text string, pattern *regexp.Regexp, expected string) {
	if text != "" && !isToken(text) && !pattern.MatchString(text) {
		c.report(setting, "is %q: expected %s", text, expected)
	}
}

// unset notes a setting that means nothing, for want of another or because of
// another.
func (c *checker) unset(setting string, given bool, reason string) {
	if given {
		c.report(setting, "is set: expected it not to be %s", reason)
	}
}

// outboxName and runbookURL are as long as they can be in the topic's display name
// and in the description of an alarm.
var (
	outboxName = regexp.MustCompile(`^.{1,64}$`)
	runbookURL = regexp.MustCompile(`^https?://\S{1,500}$`)
)

func (c *checker) outbox(p Props) {
	c.match("outboxName", p.Name, outboxName, "at most 64 characters")
	if _, ok := machines[p.Architecture]; !ok {
		c.report("architecture", "is %q: expected arm64 or x86_64", p.Architecture)
	} else if p.BinaryDir != "" {
		c.add(checkBinaries(p.BinaryDir, p.Architecture))
	}
	if _, ok := retentionDays[p.LogRetentionDays]; !ok {
		c.report("logRetentionDays", "is %d: expected one of %s", p.LogRetentionDays,
			strings.Trim(fmt.Sprint(slices.Sorted(maps.Keys(retentionDays))), "[]"))
	}
}

var (
	hostName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	userName   = regexp.MustCompile(`^[A-Za-z0-9_.@+=,-]{1,63}$`)
	resourceID = regexp.MustCompile(`^(db|cluster|prx)-[A-Za-z0-9]+$`)
	secretArn  = regexp.MustCompile(`^arn:aws[\w-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@!-]+-[A-Za-z0-9]{6}$`)
	keyArn     = regexp.MustCompile(`^arn:aws[\w-]*:kms:[a-z0-9-]+:\d{12}:key/[\w-]+$`)
)

func (c *checker) database(d Database) {
	c.match("databaseHost", d.Host, hostName, "the name or IPv4 address of a host")
	c.match("migrateHost", d.MigrateHost, hostName, "the name or IPv4 address of a host")
	if d.Port < 0 || d.Port > 65535 {
		c.report("databasePort", "is %d: expected a port from 1 to 65535", d.Port)
	}
	c.functionKeys("Secrets", d.Secrets)
	c.functionKeys("Users", d.Users)
	if d.IamAuth {
		c.iam(d)
	} else {
		c.secrets(d)
	}
}

func (c *checker) functionKeys(field string, of map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if !slices.Contains(functionNames, name) {
			c.report("Database."+field, "has %q: expected one of %s", name, strings.Join(functionNames, ", "))
		}
	}
}

func (c *checker) iam(d Database) {
	const reason = "with databaseIamAuth, which needs no secret"
	c.unset("databaseSecretArn", d.SecretArn != "", reason)
	c.unset("databaseSecretKeyArn", d.SecretKeyArn != "", reason)
	for _, function := range functionNames {
		c.unset(function+"SecretArn", d.Secrets[function] != "", reason)
	}
	c.given("databaseHost", d.Host)
	c.given("databaseName", d.Name)
	c.given("databaseResourceId", d.ResourceID)
	c.match("databaseResourceId", d.ResourceID, resourceID, "the resource id of the database, db-..., cluster-... or prx-...")
	c.users(d)
}

// given notes what databaseIamAuth needs and has not.
func (c *checker) given(setting, text string) {
	if text == "" {
		c.report(setting, "is not set: databaseIamAuth needs it")
	}
}

func (c *checker) users(d Database) {
	const expected = "a user's name of letters, digits and _.@+=,-, without wildcards"
	c.match("databaseUser", d.User, userName, expected)
	for _, function := range functionNames {
		c.match(function+"User", d.Users[function], userName, expected)
	}
	if missing := without(d.user); missing != "" {
		c.report("databaseUser", "is not set, and %s have no user of their own: databaseIamAuth needs it", missing)
	}
}

// without lists the functions that have none of what there is for each.
func without(of func(function string) string) string {
	return strings.Join(slices.DeleteFunc(FunctionNames(), func(function string) bool { return of(function) != "" }), ", ")
}

func (c *checker) secrets(d Database) {
	const reason = "without databaseIamAuth: the secret has the user"
	c.unset("databaseUser", d.User != "", reason)
	c.unset("databaseResourceId", d.ResourceID != "", "without databaseIamAuth")
	c.secret("databaseSecretArn", d.SecretArn)
	for _, function := range functionNames {
		c.unset(function+"User", d.Users[function] != "", reason)
		c.secret(function+"SecretArn", d.Secrets[function])
	}
	if missing := without(d.secret); missing != "" {
		c.report("databaseSecretArn", "is not set, and %s have no secret of their own: expected the complete ARN of a secret with username and password, or databaseIamAuth", missing)
	}
	c.match("databaseSecretKeyArn", d.SecretKeyArn, keyArn, "the ARN of a KMS key, which ends in key/<id>: an alias grants nothing")
}

// secret does not show the text: it may be the password, put there by mistake.
func (c *checker) secret(setting, arn string) {
	if arn != "" && !isToken(arn) && !secretArn.MatchString(arn) {
		c.report(setting, "(not shown) is no complete ARN of a secret: expected "+
			"arn:aws:secretsmanager:<region>:<account>:secret:<name>-<six characters>, as the console shows it")
	}
}

// Ways out of a VPC.
const (
	egressNat               = "nat"
	egressEndpoints         = "endpoints"
	egressExistingEndpoints = "existing-endpoints"
)

var (
	vpcID    = regexp.MustCompile(`^vpc-[0-9a-f]{8,17}$`)
	subnetID = regexp.MustCompile(`^subnet-[0-9a-f]{8,17}$`)
	groupID  = regexp.MustCompile(`^sg-[0-9a-f]{8,17}$`)
)

func (n Network) inVpc() bool { return n.Vpc != nil || n.VpcID != "" }

func (c *checker) network(n Network) {
	c.match("vpcId", n.VpcID, vpcID, "vpc-...")
	c.match("databaseSecurityGroupId", n.DatabaseSecurityGroupID, groupID, "sg-...")
	for _, id := range n.SubnetIDs {
		c.match("subnetIds", id, subnetID, "a list of subnet-...")
	}
	for _, id := range n.SecurityGroupIDs {
		c.match("securityGroupIds", id, groupID, "a list of sg-...")
	}
	if n.inVpc() {
		c.vpc(n)
		return
	}
	const reason = "without vpcId"
	c.unset("subnetIds", len(n.SubnetIDs) > 0, reason)
	c.unset("securityGroupIds", len(n.SecurityGroupIDs) > 0, reason)
	c.unset("databaseSecurityGroupId", n.DatabaseSecurityGroupID != "", reason)
	c.unset("egress", n.Egress != "", reason)
}

func (c *checker) vpc(n Network) {
	if n.VpcID != "" && len(n.SubnetIDs) == 0 {
		c.report("subnetIds", "is not set: vpcId needs the private subnets that the functions are to run in")
	}
	if n.Vpc != nil {
		c.unset("vpcId", n.VpcID != "", "with Network.Vpc")
		c.unset("subnetIds", len(n.SubnetIDs) > 0, "with Network.Vpc, which takes Network.Subnets")
	}
	egresses := []string{egressNat, egressEndpoints, egressExistingEndpoints}
	if !slices.Contains(egresses, n.Egress) {
		c.report("egress", "is %q: expected nat (or another way to the internet), endpoints (made here, for EventBridge and Secrets Manager) "+
			"or existing-endpoints: without a way out of the VPC every call to AWS hangs", n.Egress)
	}
}

var (
	newBus = regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,256}$`)
	days   = "a number of days, or 0 for none"
)

func (c *checker) bus(b Bus) {
	switch {
	case b.EventBus == "" && b.NewEventBus == "":
		c.report("eventBus", "is not set: expected the name or ARN of a bus, or newEventBus: EventBridge drops what is sent to a bus that does not exist")
	case b.EventBus != "" && b.NewEventBus != "":
		c.report("eventBus", "is set as well as newEventBus: expected one of them")
	}
	c.busName("eventBus", b.EventBus)
	c.match("newEventBus", b.NewEventBus, newBus, "a name of 1 to 256 letters, digits and .-_")
	if b.NewEventBus == "default" {
		c.report("newEventBus", `is "default": that bus exists, expected eventBus`)
	}
	for _, topic := range b.Topics {
		c.busName("topics", topic)
	}
	if b.ArchiveDays < 0 {
		c.report("archiveDays", "is %d: expected %s", b.ArchiveDays, days)
	}
	if b.ArchiveDays > 0 && strings.HasPrefix(b.EventBus, "arn:") {
		c.report("archiveDays", "is set: expected a bus of this account for it, by its name, or newEventBus")
	}
}

func (c *checker) busName(setting, bus string) {
	if bus != "" && !isToken(bus) && !config.IsEventBus(bus) {
		c.report(setting, "is %q: expected the name or ARN of an event bus", bus)
	}
}

func (c *checker) sizes(p Props) {
	for _, name := range functionNames {
		f := p.function(name)
		if f.MemoryMB < 128 || f.MemoryMB > 10240 {
			c.report(name+"MemoryMb", "is %d: expected from 128 to 10240", f.MemoryMB)
		}
		derived := name == "relay" && f.Timeout == 0
		if !derived && (f.Timeout < time.Second || f.Timeout > maxTimeout || f.Timeout%time.Second != 0) {
			c.report(name+"Timeout", "is %s: expected whole seconds from 1s to 15m", f.Timeout)
		}
		if name != "admin" && (f.Every < time.Minute || f.Every > 24*time.Hour || f.Every%time.Minute != 0) {
			c.report(name+"Every", "is %s: expected whole minutes from 1m to 24h", f.Every)
		}
	}
	if p.Migrate.AtDeploy && p.Migrate.Timeout >= triggerTimeout {
		c.report("migrateTimeout", "is %s: expected at most %s with migrateAtDeploy, since the deployment waits %s",
			p.Migrate.Timeout, triggerTimeout-time.Minute, triggerTimeout)
	}
}

// function is the size of the one of a name.
func (p Props) function(name string) Function {
	return map[string]Function{
		"relay": p.Relay.Function, "cleanup": p.Cleanup, "lag": p.Lag, "migrate": p.Migrate.Function, "admin": p.Admin,
	}[name]
}

var topicArn = regexp.MustCompile(`^arn:aws[\w-]*:sns:[a-z0-9-]+:\d{12}:[\w-]+$`)

func (c *checker) alarms(a Alarms) {
	c.match("alarmTopicArn", a.TopicArn, topicArn, "the ARN of a standard SNS topic")
	c.match("alarmEmail", a.Email, regexp.MustCompile(`^[^@\s]+@[^@\s]+$`), "an address")
	c.match("runbookUrl", a.RunbookURL, runbookURL, "a URL, https://..., of at most 500 characters")
	c.unset("alarmEmail", a.Email != "" && a.TopicArn != "", "with alarmTopicArn: subscribe to that topic")
	c.unset("alarmEncrypted", a.Encrypted && a.TopicArn != "", "with alarmTopicArn: that topic is as it is")
	if a.Lag < time.Minute || a.Lag > 24*time.Hour {
		c.report("alarmLag", "is %s: expected from 1m to 24h", a.Lag)
	}
}

func (c *checker) environment(environment map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(environment)) {
		if setting, ok := owned[key]; ok {
			c.report(key, "is set: expected %s instead", setting)
		}
	}
	if environment["EVENT_ENDPOINT_ID"] != "" {
		c.report("EVENT_ENDPOINT_ID", "is set: a global endpoint takes permissions in two Regions, which are not made here")
	}
}

// functions passes on what the functions would refuse, by the names of settings.
func (c *checker) functions(err error) {
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		key, rest, _ := strings.Cut(line, " ")
		if setting, ok := owned[key]; ok {
			key = setting
		}
		c.report(key, "%s", rest)
	}
}

func (c *checker) relay(p Props, s settings) {
	if parallel := p.Relay.Parallel; parallel < 1 || parallel > 64 {
		c.report("relayParallel", "is %d: expected from 1 to 64", parallel)
	}
	overlapping := p.Relay.Parallel
	if s.relay.PollInterval > 0 {
		overlapping *= 2
	}
	if reserved := p.Relay.ReservedConcurrency; reserved < 0 || (reserved > 0 && reserved < overlapping) {
		c.report("relayReservedConcurrency", "is %d: expected 0 for none, or at least %d: so many relays are at work at once", reserved, overlapping)
	}
	least := s.relay.Reserve + s.relay.EventBridge.Timeout + time.Second
	if timeout := p.Relay.Timeout; timeout > 0 && timeout <= least {
		c.report("relayTimeout", "is %s: expected more than %s: RELAY_RESERVE, PUT_EVENTS_TIMEOUT and a second", timeout, least)
	}
	longest := maxTimeout - 2*time.Minute
	if s.relay.PollInterval > 0 && p.Relay.Every > longest {
		c.report("relayEvery", "is %s: expected at most %s with RELAY_POLL_INTERVAL, so that the next run begins before one ends", p.Relay.Every, longest)
	}
}
