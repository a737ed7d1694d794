package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsrds"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"outboxrelay/infra/outboxcdk"
)

// embed is what the documentation tells to do in one's own CDK app: its body is
// there too.
func embed(stack awscdk.Stack, vpc awsec2.IVpc, database awsrds.DatabaseCluster, application, operators awsiam.IGrantable) {
	props := outboxcdk.NewProps()
	props.Database.SecretArn = *database.Secret().SecretArn()
	props.Network.Vpc, props.Network.Egress = vpc, "nat"
	props.Network.DatabaseSecurityGroupID = *(*database.Connections().SecurityGroups())[0].SecurityGroupId()
	props.Bus.NewEventBus = "orders"
	relay := outboxcdk.NewOutboxRelay(stack, "Outbox", props)
	relay.Node().AddDependency(database) // migrate runs once it is there
	relay.GrantInvoke(application)       // who nudges the relay after a commit
	relay.GrantAdmin(operators)
}

// body is that of embed, as it stands above.
func body(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("embedding_test.go")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(source), "\nfunc embed(")
	require.True(t, found)
	_, rest, _ = strings.Cut(rest, "{\n")
	indented, _, _ := strings.Cut(rest, "\n}\n")
	return strings.ReplaceAll("\n"+indented, "\n\t", "\n")[1:]
}

func TestTheExamplesInTheDocumentationAreTheOneThatIsTested(t *testing.T) {
	document, err := os.ReadFile("../docs/deployment.md")
	require.NoError(t, err)
	require.Contains(t, string(document), "```go\nimport \"outboxrelay/infra/outboxcdk\"\n\n"+body(t)+"\n```\n")

	comment, err := os.ReadFile("outboxcdk/doc.go")
	require.NoError(t, err)
	require.Contains(t, string(comment), "//\t"+strings.ReplaceAll(body(t), "\n", "\n//\t")+"\npackage outboxcdk\n")
}

func TestTheExampleOfEmbeddingCanBeDeployed(t *testing.T) {
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir())})
	stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
	vpc := awsec2.NewVpc(stack, jsii.String("Vpc"), nil)
	database := awsrds.NewDatabaseCluster(stack, jsii.String("Database"), &awsrds.DatabaseClusterProps{
		Engine: awsrds.DatabaseClusterEngine_AuroraPostgres(&awsrds.AuroraPostgresClusterEngineProps{Version: awsrds.AuroraPostgresEngineVersion_VER_16_6()}),
		Writer: awsrds.ClusterInstance_ServerlessV2(jsii.String("Writer"), nil),
		Vpc:    vpc,
	})
	embed(stack, vpc, database, newRole(stack, "Application"), newRole(stack, "Operators"))
	resources := resourcesOf(t, stack)

	migration := resources.only(t, "Custom::Trigger", "OutboxMigration")
	for _, id := range resources.all("AWS::RDS::DBCluster", "AWS::RDS::DBInstance", "AWS::EC2::SecurityGroupIngress") {
		require.Contains(t, resources[migration].DependsOn, id, "migrate can reach it")
	}
	group := resources.only(t, "AWS::EC2::SecurityGroup", "DatabaseSecurityGroup")
	opened := resources[resources.only(t, "AWS::EC2::SecurityGroupIngress", "OutboxNetworkDatabaseIngress")].Properties
	require.Equal(t, map[string]any{"Fn::GetAtt": []any{group, "GroupId"}}, opened["GroupId"])
	for _, role := range []string{"Application", "Operators"} {
		resources.only(t, "AWS::IAM::Policy", role+"DefaultPolicy")
	}
}

func newRole(stack awscdk.Stack, id string) awsiam.Role {
	return awsiam.NewRole(stack, jsii.String(id), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
}

// resources are those of a template, by their logical ids.
type resources map[string]struct {
	Type       string
	DependsOn  []string
	Properties map[string]any
}

// resourcesOf fails if resources depend on each other in a circle, which the CDK
// finds only here, and CloudFormation at the deployment.
func resourcesOf(t *testing.T, stack awscdk.Stack) resources {
	t.Helper()
	var template *map[string]any
	require.NotPanics(t, func() { template = assertions.Template_FromStack(stack, nil).ToJSON() })
	content, err := json.Marshal(template)
	require.NoError(t, err)
	var decoded struct{ Resources resources }
	require.NoError(t, json.Unmarshal(content, &decoded))
	return decoded.Resources
}

// all are the logical ids of some types.
func (r resources) all(types ...string) (ids []string) {
	for id, resource := range r {
		for _, wanted := range types {
			if resource.Type == wanted {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// only is the logical id of the one resource of a type that begins so.
func (r resources) only(t *testing.T, kind, prefix string) string {
	t.Helper()
	var found []string
	for _, id := range r.all(kind) {
		if strings.HasPrefix(id, prefix) {
			found = append(found, id)
		}
	}
	require.Len(t, found, 1, "%s %s...", kind, prefix)
	return found[0]
}
