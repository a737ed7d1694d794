package outboxcdk

import (
	"errors"
	"regexp"
	"slices"

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

const httpsPort = 443

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

// Ways out of a VPC.
const (
	egressNat               = "nat"
	egressEndpoints         = "endpoints"
	egressExistingEndpoints = "existing-endpoints"
)

var (
	vpcID    = regexp.MustCompile(`^vpc-([0-9a-f]{8}|[0-9a-f]{17})$`)
	subnetID = regexp.MustCompile(`^subnet-([0-9a-f]{8}|[0-9a-f]{17})$`)
	groupID  = regexp.MustCompile(`^sg-([0-9a-f]{8}|[0-9a-f]{17})$`)
)

const digits = " and 8 or 17 hex digits"

func (n Network) inVpc() bool { return n.Vpc != nil || n.VpcID != "" }

func (c *checker) network(n Network) {
	c.match("vpcId", n.VpcID, vpcID, "vpc-"+digits)
	c.match("databaseSecurityGroupId", n.DatabaseSecurityGroupID, groupID, "sg-"+digits)
	c.match("migrateSecurityGroupId", n.MigrateSecurityGroupID, groupID, "sg-"+digits)
	for _, id := range n.SubnetIDs {
		c.match("subnetIds", id, subnetID, "each of them to be subnet-"+digits)
	}
	for _, id := range n.SecurityGroupIDs {
		c.match("securityGroupIds", id, groupID, "each of them to be sg-"+digits)
	}
	c.once("subnetIds", n.SubnetIDs)
	c.once("securityGroupIds", n.SecurityGroupIDs)
	if n.inVpc() {
		c.vpc(n)
		return
	}
	const reason = "without vpcId"
	c.unset("subnetIds", len(n.SubnetIDs) > 0, reason)
	c.unset("securityGroupIds", len(n.SecurityGroupIDs) > 0, reason)
	c.unset("databaseSecurityGroupId", n.DatabaseSecurityGroupID != "", reason)
	c.unset("migrateSecurityGroupId", n.MigrateSecurityGroupID != "", reason)
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
	c.egress(n.Egress)
}

func (c *checker) egress(egress string) {
	const expected = "expected nat (or another way to the internet), endpoints (made here, for EventBridge and Secrets Manager) " +
		"or existing-endpoints: without a way out of the VPC every call to AWS hangs"
	if egress == "" {
		c.report("egress", "is not set: %s", expected)
	} else if !slices.Contains([]string{egressNat, egressEndpoints, egressExistingEndpoints}, egress) {
		c.report("egress", "is %q: %s", egress, expected)
	}
}
