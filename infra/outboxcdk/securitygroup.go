package outboxcdk

import (
	"cmp"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/jsii-runtime-go"
)

// door is where functions go in to a database: its port, and its security group,
// which is empty where it is not known.
type door struct {
	name  string // of the rule
	group string
	port  int
}

// doors are those of the database, or pooler, and of the database that migrate
// goes to, if that is another.
func (p Props) doors() []door {
	network := p.Network
	all := []door{{"Database", network.DatabaseSecurityGroupID, cmp.Or(p.Database.port("relay"), postgresPort)}}
	other := door{"Migrate", cmp.Or(network.MigrateSecurityGroupID, network.DatabaseSecurityGroupID), cmp.Or(p.Database.port("migrate"), postgresPort)}
	if other.group != all[0].group || other.port != all[0].port {
		all = append(all, other)
	}
	return all
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
	aws := awsec2.Peer_AnyIpv4()
	if endpoints != nil {
		aws = endpoints // not its id: the two groups refer to each other, by rules that stand alone
	}
	group.AddEgressRule(aws, awsec2.Port_Tcp(jsii.Number(httpsPort)), jsii.String("AWS"), nil)
	for _, door := range r.props.doors() {
		group.AddEgressRule(door.peer(), awsec2.Port_Tcp(jsii.Number(door.port)), jsii.String(door.name), nil)
	}
	return []awsec2.ISecurityGroup{group}
}

func (d door) peer() awsec2.IPeer {
	if d.group == "" {
		return awsec2.Peer_AnyIpv4()
	}
	return awsec2.Peer_SecurityGroupId(jsii.String(d.group), nil)
}

func (r *OutboxRelay) importGroup(id, group string) awsec2.ISecurityGroup {
	return awsec2.SecurityGroup_FromSecurityGroupId(r.network.scope, jsii.String(id), jsii.String(group), &awsec2.SecurityGroupImportOptions{
		Mutable: jsii.Bool(false), // it is somebody else's
	})
}

// openDatabase makes rules of its own, as resources: on a group that comes from
// elsewhere the CDK's Connections may do nothing, and say nothing.
func (r *OutboxRelay) openDatabase() {
	for _, door := range r.props.doors() {
		if door.group == "" {
			continue
		}
		for i, functions := range r.network.groups {
			awsec2.NewCfnSecurityGroupIngress(r.network.scope, jsii.String(door.name+"Ingress"+strconv.Itoa(i+1)), &awsec2.CfnSecurityGroupIngressProps{
				GroupId: jsii.String(door.group), SourceSecurityGroupId: functions.SecurityGroupId(), IpProtocol: jsii.String("tcp"),
				FromPort: jsii.Number(door.port), ToPort: jsii.Number(door.port),
				Description: jsii.String("Functions of the outbox relay"),
			})
		}
	}
}
