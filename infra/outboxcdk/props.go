package outboxcdk

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
)

// Props says what a relay is to be. NewProps has the defaults; Validate names
// everything that is wrong. A text may be an unresolved token (another stack's
// output, say): what it will be is not checked.
type Props struct {
	// Name tells this outbox from others: dimension of the metrics, field of the
	// logs (OUTBOX_NAME).
	Name string
	// Table is its table or view (OUTBOX_TABLE), quoted as in SQL.
	Table string
	// Architecture is that of the functions: arm64 or x86_64.
	Architecture string
	// BinaryDir has <function>/bootstrap, built for Architecture; empty: they are
	// built from the source that this module comes with.
	BinaryDir string

	Database Database
	Network  Network
	Bus      Bus

	Relay   Relay
	Cleanup Function
	Lag     Function
	Migrate Migrate
	Admin   Function

	// Environment are more settings of the functions, by their keys
	// (RELAY_BATCH_SIZE, CLEANUP_RETENTION, ...). All functions get all of them.
	Environment map[string]string

	// Scheduled: the schedules are on. Off, everything is deployed and nothing
	// runs but migrate, as one wants it before a cut-over.
	Scheduled bool
	// LogRetentionDays is how long logs are kept: a number that CloudWatch knows.
	LogRetentionDays int

	Alarms Alarms

	// settings are those of the functions, once they have been read.
	settings settings
}

// Database says where the outbox is, and as whom the functions log in.
type Database struct {
	// SecretArn is the complete ARN of a secret with username and password, and
	// host, port and dbname where these are not given here.
	SecretArn string
	// SecretKeyArn is the customer managed key that the secrets are encrypted
	// with; empty: the account's own key for Secrets Manager.
	SecretKeyArn string
	// Host, Port and Name come before what the secret says; 0 and empty: unset.
	Host string
	Port int
	Name string
	// IamAuth: functions log in by RDS IAM, as User or as Users says, and there
	// is no secret. It takes Host, Name and ResourceID.
	IamAuth bool
	User    string
	// ResourceID is the database's for rds-db:connect: db-..., cluster-... or prx-....
	ResourceID string
	// Secrets and Users are those of single functions (relay, cleanup, lag,
	// migrate, admin) that have one of their own.
	Secrets map[string]string
	Users   map[string]string
	// MigrateHost is the database itself where Host is a pooler in transaction
	// mode: migrate needs a session. MigratePort and MigrateResourceID are its
	// own; 0 and empty: those of Host.
	MigrateHost       string
	MigratePort       int
	MigrateResourceID string
	// SSLMode is that of libpq; empty: verify-full.
	SSLMode string
}

// Network says where the functions run. Without a VPC they run outside of any.
type Network struct {
	// Vpc, with Subnets where its private ones are not meant, is for a CDK app
	// that has it; VpcID with SubnetIDs is for all others. With endpoints as
	// Egress, SubnetIDs are one of each zone: EC2 refuses two.
	Vpc       awsec2.IVpc
	Subnets   *awsec2.SubnetSelection
	VpcID     string
	SubnetIDs []string
	// SecurityGroupIDs are the functions'; empty: one is made.
	SecurityGroupIDs []string
	// DatabaseSecurityGroupID gets a rule that lets the functions in, on the port
	// of the database. MigrateSecurityGroupID is that of Database.MigrateHost;
	// empty: the same.
	DatabaseSecurityGroupID string
	MigrateSecurityGroupID  string
	// Egress is how functions in a VPC reach EventBridge and Secrets Manager: nat
	// (or any other way out), endpoints (interface endpoints are made here) or
	// existing-endpoints. It has no default: without a way out every call hangs.
	Egress string
}

// Bus says where events go. EventBus and NewEventBus exclude each other, and
// neither has a default: EventBridge drops what is sent to a bus that is not there.
type Bus struct {
	// EventBus is the name or ARN of a bus that exists, also another account's.
	EventBus string
	// NewEventBus is the name of a bus to make.
	NewEventBus string
	// Topics are the names and ARNs of all other buses that rows name in topic.
	Topics []string
	// ArchiveDays: what reaches the bus is kept so many days for a replay; 0: it is
	// not. For a bus of this account and Region.
	ArchiveDays int
}

// Function says how large a function is and how often it runs.
type Function struct {
	MemoryMB int
	// Timeout is Lambda's; 0, of the relay: a minute, or with RELAY_POLL_INTERVAL
	// two periods and what a run needs at its ends.
	Timeout time.Duration
	// Every is how often it is invoked, in whole minutes. Admin is invoked by people.
	Every time.Duration
}

// Relay is the function relay.
type Relay struct {
	Function
	// Parallel is how many are at work at once.
	Parallel int
	// ReservedConcurrency is taken from the account's; 0: none is. An account with
	// a limit of 10 has none to give.
	ReservedConcurrency int
}

// Migrate is the function migrate. It runs daily where there are partitions.
type Migrate struct {
	Function
	// AtDeploy: it runs at each deployment that changes it, before the schedules
	// are there, and its failure fails the deployment.
	AtDeploy bool
}

// Alarms says who is told, and when.
type Alarms struct {
	// TopicArn is a topic that exists; empty: one is made.
	TopicArn string
	// Email is subscribed to the topic that is made.
	Email string
	// Encrypted: the topic that is made is encrypted with a key of its own, which
	// CloudWatch may use.
	Encrypted bool
	// Lag is how old the oldest unpublished event may be; 0: five minutes, or two
	// periods of the relay and two minutes if these are longer and it does not poll.
	Lag time.Duration
	// RunbookURL is where docs/operation.md can be read; a section is appended.
	RunbookURL string
}
