package outboxcdk_test

import (
	"debug/elf"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"outboxrelay/infra/outboxcdk"
)

// ARNs of what exists already.
const (
	secretArn      = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/relay-AbCdEf"
	ownerSecretArn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/owner-GhIjKl"
	keyArn         = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	foreignBusArn  = "arn:aws:events:eu-west-1:210987654321:event-bus/audit"
)

func minimalProps() outboxcdk.Props {
	props := outboxcdk.NewProps()
	props.BinaryDir = placeholders(elf.EM_AARCH64)
	props.Database.SecretArn = secretArn
	props.Bus.EventBus = "orders"
	return props
}

// everythingProps has all there is that does not exclude the rest.
func everythingProps() outboxcdk.Props {
	props := minimalProps()
	props.Name, props.Table = "shop", `shop."Outbox"`
	props.Architecture, props.BinaryDir = "x86_64", placeholders(elf.EM_X86_64)
	props.Database.SecretKeyArn = keyArn
	props.Database.Host, props.Database.Port, props.Database.Name = "pooler.example", 6432, "shop"
	props.Database.SSLMode, props.Database.MigrateHost, props.Database.MigratePort = "verify-ca", "database.example", 5433
	props.Database.Secrets = map[string]string{"migrate": ownerSecretArn}
	props.Network = outboxcdk.Network{
		VpcID: "vpc-0000000a", SubnetIDs: []string{"subnet-0000000a", "subnet-0000000b"}, DatabaseSecurityGroupID: "sg-0000000d",
		MigrateSecurityGroupID: "sg-0000000e", Egress: "endpoints",
	}
	props.Bus = outboxcdk.Bus{NewEventBus: "orders", Topics: []string{"billing", foreignBusArn}, ArchiveDays: 30}
	props.Relay.MemoryMB, props.Relay.Parallel, props.Relay.ReservedConcurrency = 512, 2, 4
	props.Environment = map[string]string{
		"RELAY_POLL_INTERVAL": "1s", "RELAY_RESERVE": "7s", "PARTITION_INTERVAL": "day", "CLEANUP_RETENTION": "72h", "LOG_LEVEL": "debug",
	}
	props.LogRetentionDays = 7
	props.Alarms.Encrypted, props.Alarms.Email = true, "on-call@example.com"
	return props
}

// iamProps logs in by IAM, from security groups that exist.
func iamProps() outboxcdk.Props {
	props := minimalProps()
	props.Database = outboxcdk.Database{
		IamAuth: true, Host: "database.example", Name: "shop", ResourceID: "cluster-ABCDEFGHIJ", User: "outbox",
		Users: map[string]string{"migrate": "owner"},
	}
	props.Network = outboxcdk.Network{
		VpcID: "vpc-0000000a", SubnetIDs: []string{"subnet-0000000a"}, SecurityGroupIDs: []string{"sg-0000000a", "sg-0000000b"},
		DatabaseSecurityGroupID: "sg-0000000d", Egress: "endpoints",
	}
	return props
}

// proxiedProps logs in by IAM at a proxy, and for migrate at the database.
func proxiedProps() outboxcdk.Props {
	props := iamProps()
	props.Database.Host, props.Database.ResourceID = "proxy.example", "prx-ABCDEFGHIJ"
	props.Database.MigrateHost, props.Database.MigrateResourceID = "database.example", "cluster-ABCDEFGHIJ"
	return props
}

// elsewhere moves all ARNs to another partition and Region.
func elsewhere(props outboxcdk.Props, partition, region string) outboxcdk.Props {
	move := func(arns ...*string) {
		for _, arn := range arns {
			*arn = strings.Replace(strings.Replace(*arn, "arn:aws:", "arn:"+partition+":", 1), "eu-west-1", region, 1)
		}
	}
	owner := props.Database.Secrets["migrate"]
	move(&props.Database.SecretArn, &props.Database.SecretKeyArn, &props.Bus.Topics[1], &owner)
	props.Database.Secrets = map[string]string{"migrate": owner}
	return props
}

func stackOf(props func() outboxcdk.Props, in *awscdk.Environment) func() template {
	return func() template {
		return synthesize(func(stack awscdk.Stack) {
			outboxcdk.NewOutboxRelay(stack, "Outbox", props())
		}, &awscdk.StackProps{Env: in})
	}
}

func region(name string) *awscdk.Environment {
	return &awscdk.Environment{Account: jsii.String("123456789012"), Region: jsii.String(name)}
}

var (
	minimal    = once(stackOf(minimalProps, nil))
	everything = once(stackOf(everythingProps, nil))
	byIam      = once(stackOf(iamProps, nil))
	proxied    = once(stackOf(proxiedProps, nil))
	govCloud   = once(stackOf(func() outboxcdk.Props {
		return elsewhere(everythingProps(), "aws-us-gov", "us-gov-west-1")
	}, region("us-gov-west-1")))
	china = once(stackOf(func() outboxcdk.Props {
		return elsewhere(everythingProps(), "aws-cn", "cn-north-1")
	}, region("cn-north-1")))
	turnedOff = once(stackOf(func() outboxcdk.Props {
		props := minimalProps()
		props.Scheduled, props.Migrate.AtDeploy = false, false
		return props
	}, nil))
	slow = once(stackOf(func() outboxcdk.Props {
		props := minimalProps()
		props.Relay.Every, props.Cleanup.Every = 5*time.Minute, time.Hour
		props.Bus = outboxcdk.Bus{EventBus: foreignBusArn}
		return props
	}, nil))
)

// twoOutboxes are in one stack, with all their own but the bus.
var twoOutboxes = once(func() template {
	return synthesize(func(stack awscdk.Stack) {
		outboxcdk.NewOutboxRelay(stack, "Shop", minimalProps())
		outboxcdk.NewOutboxRelay(stack, "Billing", minimalProps())
	}, nil)
})

// embedded has a VPC and an application of its own.
var embedded = once(func() template {
	return synthesize(func(stack awscdk.Stack) {
		props := minimalProps()
		props.Network.Vpc = awsec2.NewVpc(stack, jsii.String("Vpc"), &awsec2.VpcProps{MaxAzs: jsii.Number(2)})
		props.Network.Egress = "nat"
		relay := outboxcdk.NewOutboxRelay(stack, "Outbox", props)
		relay.GrantInvoke(newRole(stack, "Application"))
		relay.GrantAdmin(newRole(stack, "Operator"))
		awscdk.Tags_Of(relay).Add(jsii.String("team"), jsii.String("shop"), nil)
	}, nil)
})

func newRole(stack awscdk.Stack, id string) awsiam.Role {
	return awsiam.NewRole(stack, jsii.String(id), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
}
