package outboxcdk

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdadestinations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// functionNames are those of their directories in functions/.
var functionNames = []string{"relay", "cleanup", "lag", "migrate", "admin"}

// FunctionNames are relay, cleanup, lag, migrate and admin.
func FunctionNames() []string { return slices.Clone(functionNames) }

// maxEventAge is the least that Lambda and Scheduler take: an invocation that
// could not begin by then is overtaken by the next one.
const maxEventAge = time.Minute

func (r *OutboxRelay) addFunctions() {
	r.Relay = r.newFunction("relay", "Publishes events of the outbox", r.props.Relay.Function)
	r.Cleanup = r.newFunction("cleanup", "Deletes events that were published long ago", r.props.Cleanup)
	r.Lag = r.newFunction("lag", "Measures how far behind the relay is", r.props.Lag)
	r.Migrate = r.newFunction("migrate", "Makes and upgrades the tables", r.props.Migrate.Function)
	r.Admin = r.newFunction("admin", "Shows and redrives failed events, pauses buses", r.props.Admin)
}

func (r *OutboxRelay) newFunction(name, description string, size Function) awslambda.Function {
	id := title(name)
	environment := r.environment(name)
	logs := r.newLogGroup(id)
	props := &awslambda.FunctionProps{
		Description:  jsii.String(description),
		Runtime:      awslambda.Runtime_PROVIDED_AL2023(),
		Architecture: r.architecture(),
		Handler:      jsii.String("bootstrap"),
		Code:         awslambda.Code_FromAsset(jsii.String(filepath.Join(r.props.BinaryDir, name)), nil),
		MemorySize:   jsii.Number(size.MemoryMB),
		Timeout:      duration(size.Timeout),
		Environment:  &environment,
		Role:         r.newRole(name, logs),

		LogGroup:              logs,
		LoggingFormat:         awslambda.LoggingFormat_JSON,
		ApplicationLogLevelV2: r.logLevel(),
		SystemLogLevelV2:      awslambda.SystemLogLevel_INFO,

		RetryAttempts: jsii.Number(0),
		MaxEventAge:   duration(maxEventAge),
		OnFailure:     awslambdadestinations.NewSqsDestination(r.FailedInvocations),
	}
	if reserved := r.props.Relay.ReservedConcurrency; name == "relay" && reserved > 0 {
		props.ReservedConcurrentExecutions = jsii.Number(reserved)
	}
	if r.network.vpc != nil {
		props.Vpc, props.VpcSubnets = r.network.vpc, r.network.subnets
		props.SecurityGroups = r.network.securityGroups()
	}
	return awslambda.NewFunction(r, jsii.String(id), props)
}

// newLogGroup gives it no name: a fixed one would clash with what an earlier
// deployment or Lambda itself has left.
func (r *OutboxRelay) newLogGroup(id string) awslogs.LogGroup {
	return awslogs.NewLogGroup(r, jsii.String(id+"Logs"), &awslogs.LogGroupProps{
		Retention:     retentionDays[r.props.LogRetentionDays],
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
}

// newRole makes the role of one function with all that it may do, which is
// exactly what it does. A managed policy would let it write to all logs.
func (r *OutboxRelay) newRole(name string, logs awslogs.ILogGroup) awsiam.Role {
	role := awsiam.NewRole(r, jsii.String(title(name)+"Role"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
	logs.GrantWrite(role)
	r.grantLogin(role, name)
	if name == "relay" {
		r.grantPublish(role)
	}
	if r.network.vpc != nil {
		r.grantNetwork(role)
	}
	return role
}

// grantLogin lets one function log in as who it is, and as nobody else.
func (r *OutboxRelay) grantLogin(role awsiam.Role, function string) {
	if r.props.Database.IamAuth {
		allow(role, "Connect", []string{"rds-db:connect"}, []*string{r.databaseUserArn(function)})
	} else {
		r.grantSecret(role, function)
	}
}

// allow gives a role a statement of its own.
func allow(role awsiam.Role, sid string, actions []string, arns []*string) {
	role.AddToPrincipalPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String(sid), Actions: jsii.Strings(actions...), Resources: &arns,
	}))
}

func (r *OutboxRelay) architecture() awslambda.Architecture {
	if r.props.Architecture == "x86_64" {
		return awslambda.Architecture_X86_64()
	}
	return awslambda.Architecture_ARM_64()
}

// logLevel is that of Lambda's filter, which would drop what LOG_LEVEL asks for.
func (r *OutboxRelay) logLevel() awslambda.ApplicationLogLevel {
	return awslambda.ApplicationLogLevel(r.props.settings.relay.LogLevel.String())
}

// ec2Actions are those without which Lambda refuses a function in a VPC.
var ec2Actions = []string{
	"ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:DeleteNetworkInterface",
	"ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses",
}

// grantNetwork lets Lambda make the function's network interfaces. They have no
// ARN yet when Lambda asks.
func (r *OutboxRelay) grantNetwork(role awsiam.Role) {
	allow(role, "NetworkInterfaces", ec2Actions, []*string{jsii.String("*")})
}

func duration(d time.Duration) awscdk.Duration {
	return awscdk.Duration_Seconds(jsii.Number(d.Seconds()))
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
