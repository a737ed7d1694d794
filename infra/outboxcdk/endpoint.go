package outboxcdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/jsii-runtime-go"
)

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

// addEndpoint puts it into the subnets of the functions. Of an embedder's VPC the
// CDK takes one of each zone, which is what EC2 takes; of given ids it knows none.
func (r *OutboxRelay) addEndpoint(id string, service awsec2.InterfaceVpcEndpointAwsService, group awsec2.SecurityGroup) {
	awsec2.NewInterfaceVpcEndpoint(r.network.scope, jsii.String(id), &awsec2.InterfaceVpcEndpointProps{
		Vpc: r.network.vpc, Subnets: r.network.subnets, Service: service, PrivateDnsEnabled: jsii.Bool(true),
		SecurityGroups: &[]awsec2.ISecurityGroup{group}, Open: jsii.Bool(false), // only the functions, by the rule above
	})
}
