package outboxcdk

import (
	"errors"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// network is where the functions run; without a VPC it is zero.
type network struct {
	scope   constructs.Construct // of all that is made for it; nil: nothing is
	vpc     awsec2.IVpc
	subnets *awsec2.SubnetSelection
	groups  []awsec2.ISecurityGroup
}

func (n network) securityGroups() *[]awsec2.ISecurityGroup { return &n.groups }

const (
	httpsPort    = 443
	postgresPort = 5432
)

func (r *OutboxRelay) addNetwork() {
	if !r.props.Network.inVpc() {
		return
	}
	r.network.scope = constructs.NewConstruct(r, jsii.String("Network"))
	r.network.vpc, r.network.subnets = r.vpc()
	endpoints := r.endpointGroup()
	r.network.groups = r.functionGroups(endpoints)
	if endpoints != nil {
		r.addEndpoints(endpoints)
	}
	r.openDatabase()
}

// vpc is the embedder's, or the one of the settings, of which nothing is looked
// up: that would take credentials at synthesis.
func (r *OutboxRelay) vpc() (awsec2.IVpc, *awsec2.SubnetSelection) {
	settings := r.props.Network
	if settings.Vpc != nil {
		return settings.Vpc, settings.selection()
	}
	// A zone for each subnet is what the CDK wants to hear; neither Lambda nor an
	// endpoint is told of it.
	zones := make([]*string, len(settings.SubnetIDs))
	for i := range zones {
		zones[i] = awscdk.Fn_Select(jsii.Number(i), awscdk.Fn_GetAzs(nil))
	}
	vpc := awsec2.Vpc_FromVpcAttributes(r.network.scope, jsii.String("Vpc"), &awsec2.VpcAttributes{
		VpcId: jsii.String(settings.VpcID), AvailabilityZones: &zones, PrivateSubnetIds: jsii.Strings(settings.SubnetIDs...),
	})
	awscdk.Annotations_Of(vpc).AcknowledgeWarning(jsii.String("@aws-cdk/aws-ec2:noSubnetRouteTableId"), jsii.String("no route is read"))
	return vpc, &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PRIVATE_WITH_EGRESS}
}

// selection are the subnets of an embedder's VPC: those with a way out where that
// is how AWS is reached, and private ones in any case.
func (n Network) selection() *awsec2.SubnetSelection {
	switch {
	case n.Subnets != nil:
		return n.Subnets
	case n.Egress == egressNat:
		return &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PRIVATE_WITH_EGRESS}
	default:
		return &awsec2.SubnetSelection{}
	}
}

// checkSubnets refuses subnets of an embedder's VPC that have no way out, where
// that is how AWS is to be reached: every call would hang.
func (n Network) checkSubnets() error {
	if n.Vpc == nil || n.Subnets == nil || n.Egress != egressNat {
		return nil
	}
	isolated := map[string]bool{}
	for _, subnet := range *n.Vpc.IsolatedSubnets() {
		isolated[*subnet.SubnetId()] = true
	}
	for _, id := range *n.Vpc.SelectSubnets(n.Subnets).SubnetIds {
		if isolated[*id] {
			return errors.New("egress is nat, but among Network.Subnets are isolated ones, which have no way out: " +
				"expected others, or endpoints or existing-endpoints")
		}
	}
	return nil
}

// functionGroups are those given, or one that lets out what the functions need:
// HTTPS to AWS, and the port of the database.
func (r *OutboxRelay) functionGroups(endpoints awsec2.SecurityGroup) []awsec2.ISecurityGroup {
	var groups []awsec2.ISecurityGroup
	for i, id := range r.props.Network.SecurityGroupIDs {
		groups = append(groups, r.importGroup("FunctionGroup"+strconv.Itoa(i+1), id))
	}
	if len(groups) > 0 {
		return groups
	}
	group := awsec2.NewSecurityGroup(r.network.scope, jsii.String("FunctionGroup"), &awsec2.SecurityGroupProps{
		Vpc: r.network.vpc, Description: jsii.String("Functions of the outbox relay"), AllowAllOutbound: jsii.Bool(false),
	})
	aws, database := awsec2.Peer_AnyIpv4(), awsec2.Peer_AnyIpv4()
	if endpoints != nil {
		aws = endpoints // not its id: the two groups refer to each other, by rules that stand alone
	}
	if id := r.props.Network.DatabaseSecurityGroupID; id != "" {
		database = awsec2.Peer_SecurityGroupId(jsii.String(id), nil)
	}
	group.AddEgressRule(aws, awsec2.Port_Tcp(jsii.Number(httpsPort)), jsii.String("AWS"), nil)
	group.AddEgressRule(database, awsec2.Port_Tcp(jsii.Number(r.props.databasePort())), jsii.String("Database"), nil)
	return []awsec2.ISecurityGroup{group}
}

func (r *OutboxRelay) importGroup(id, group string) awsec2.ISecurityGroup {
	return awsec2.SecurityGroup_FromSecurityGroupId(r.network.scope, jsii.String(id), jsii.String(group), &awsec2.SecurityGroupImportOptions{
		Mutable: jsii.Bool(false), // it is somebody else's
	})
}

// endpointGroup is the group of the endpoints that are made here; nil: none are.
func (r *OutboxRelay) endpointGroup() awsec2.SecurityGroup {
	if r.props.Network.Egress != egressEndpoints {
		return nil
	}
	return awsec2.NewSecurityGroup(r.network.scope, jsii.String("EndpointGroup"), &awsec2.SecurityGroupProps{
		Vpc: r.network.vpc, Description: jsii.String("Interface endpoints of the outbox relay"), AllowAllOutbound: jsii.Bool(false),
	})
}

func (r *OutboxRelay) addEndpoints(group awsec2.SecurityGroup) {
	for _, functions := range r.network.groups {
		group.AddIngressRule(functions, awsec2.Port_Tcp(jsii.Number(httpsPort)), jsii.String("Functions of the outbox relay"), nil)
	}
	r.addEndpoint("EventsEndpoint", awsec2.InterfaceVpcEndpointAwsService_EVENTBRIDGE(), group)
	if !r.props.Database.IamAuth {
		r.addEndpoint("SecretsEndpoint", awsec2.InterfaceVpcEndpointAwsService_SECRETS_MANAGER(), group)
	}
}

func (r *OutboxRelay) addEndpoint(id string, service awsec2.InterfaceVpcEndpointAwsService, group awsec2.SecurityGroup) {
	awsec2.NewInterfaceVpcEndpoint(r.network.scope, jsii.String(id), &awsec2.InterfaceVpcEndpointProps{
		Vpc: r.network.vpc, Subnets: r.network.subnets, Service: service, PrivateDnsEnabled: jsii.Bool(true),
		SecurityGroups: &[]awsec2.ISecurityGroup{group}, Open: jsii.Bool(false), // only the functions, by the rule above
	})
}

// openDatabase makes a rule of its own, as a resource: on a group that comes from
// elsewhere the CDK's Connections may do nothing, and say nothing.
func (r *OutboxRelay) openDatabase() {
	id := r.props.Network.DatabaseSecurityGroupID
	if id == "" {
		return
	}
	for i, functions := range r.network.groups {
		awsec2.NewCfnSecurityGroupIngress(r.network.scope, jsii.String("DatabaseIngress"+strconv.Itoa(i+1)), &awsec2.CfnSecurityGroupIngressProps{
			GroupId: jsii.String(id), SourceSecurityGroupId: functions.SecurityGroupId(), IpProtocol: jsii.String("tcp"),
			FromPort: jsii.Number(r.props.databasePort()), ToPort: jsii.Number(r.props.databasePort()),
			Description: jsii.String("Functions of the outbox relay"),
		})
	}
}
