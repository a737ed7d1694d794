package outboxcdk_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFunctionsRunInTheGivenSubnets(t *testing.T) {
	for name, function := range minimal(t).functions(t) {
		require.NotContains(t, function.properties, "VpcConfig", name)
	}
	for name, function := range everything(t).functions(t) {
		require.Equal(t, []any{"subnet-0000000a", "subnet-0000000b"}, at(function.properties, "VpcConfig", "SubnetIds"), name)
	}
	for name, function := range byIam(t).functions(t) {
		require.Equal(t, []any{"sg-0000000a", "sg-0000000b"}, at(function.properties, "VpcConfig", "SecurityGroupIds"), name)
	}
	require.Len(t, at(embedded(t).function(t, "relay").properties, "VpcConfig", "SubnetIds"), 2)
}

func (v template) groupID(t *testing.T, prefix string) object {
	t.Helper()
	return object{"Fn::GetAtt": []any{v.withPrefix(t, "AWS::EC2::SecurityGroup", "OutboxNetwork"+prefix).id, "GroupId"}}
}

func TestTheGroupThatIsMadeLetsOutHTTPSAndThePortOfTheDatabase(t *testing.T) {
	functions := everything(t).groupID(t, "FunctionGroup")
	require.Equal(t, []any{functions}, at(everything(t).function(t, "relay").properties, "VpcConfig", "SecurityGroupIds"))
	group := everything(t).withPrefix(t, "AWS::EC2::SecurityGroup", "OutboxNetworkFunctionGroup")
	require.Equal(t, []any{object{
		"DestinationSecurityGroupId": "sg-0000000d", "Description": "Database", "IpProtocol": "tcp", "FromPort": 6432.0, "ToPort": 6432.0,
	}, object{
		"DestinationSecurityGroupId": "sg-0000000e", "Description": "Migrate", "IpProtocol": "tcp", "FromPort": 5433.0, "ToPort": 5433.0,
	}}, group.properties["SecurityGroupEgress"])
	egress := everything(t).resources("AWS::EC2::SecurityGroupEgress")
	require.Len(t, egress, 1)
	require.Equal(t, everything(t).groupID(t, "EndpointGroup"), egress[0].properties["DestinationSecurityGroupId"])
	require.InDelta(t, 443, egress[0].properties["FromPort"], 0)

	embeddedGroup := embedded(t).withPrefix(t, "AWS::EC2::SecurityGroup", "OutboxNetworkFunctionGroup")
	require.JSONEq(t, `[
		{"CidrIp":"0.0.0.0/0","Description":"AWS","FromPort":443,"ToPort":443,"IpProtocol":"tcp"},
		{"CidrIp":"0.0.0.0/0","Description":"Database","FromPort":5432,"ToPort":5432,"IpProtocol":"tcp"}]`,
		text(t, embeddedGroup.properties["SecurityGroupEgress"]))
}

// opened are the rules of a security group of somebody else's: from whom, and for
// which port.
func (v template) opened(t *testing.T, group string) (sources []any) {
	t.Helper()
	for _, rule := range v.resources("AWS::EC2::SecurityGroupIngress") {
		if rule.properties["GroupId"] == group {
			require.Equal(t, "tcp", rule.properties["IpProtocol"])
			require.Equal(t, rule.properties["FromPort"], rule.properties["ToPort"])
			sources = append(sources, []any{rule.properties["SourceSecurityGroupId"], rule.properties["FromPort"]})
		}
	}
	return sources
}

func TestTheDatabasesGroupIsOpenedForEachGroupOfTheFunctions(t *testing.T) {
	require.Equal(t, []any{[]any{everything(t).groupID(t, "FunctionGroup"), 6432.0}}, everything(t).opened(t, "sg-0000000d"))
	twice := []any{[]any{"sg-0000000a", 5432.0}, []any{"sg-0000000b", 5432.0}}
	require.Equal(t, twice, byIam(t).opened(t, "sg-0000000d"))
	require.Equal(t, twice, proxied(t).opened(t, "sg-0000000d"), "proxy and database have one group and one port")
}

func TestTheGroupOfTheDatabaseItselfIsOpenedWhereThereIsAPooler(t *testing.T) {
	require.Equal(t, []any{[]any{everything(t).groupID(t, "FunctionGroup"), 5433.0}}, everything(t).opened(t, "sg-0000000e"))
}

// endpoints are the services of those that are made.
func endpoints(t *testing.T, variant template) (services []string) {
	t.Helper()
	for _, endpoint := range variant.resources("AWS::EC2::VPCEndpoint") {
		require.Equal(t, true, endpoint.properties["PrivateDnsEnabled"], endpoint.id)
		require.Equal(t, "Interface", endpoint.properties["VpcEndpointType"], endpoint.id)
		require.Equal(t, "vpc-0000000a", endpoint.properties["VpcId"], endpoint.id)
		require.Equal(t, []any{variant.groupID(t, "EndpointGroup")}, endpoint.properties["SecurityGroupIds"], endpoint.id)
		services = append(services, text(t, endpoint.properties["ServiceName"]))
	}
	return services
}

func TestEndpointsAreMadeForWhatIsCalled(t *testing.T) {
	const events, secrets = `{"Fn::Join":["",["com.amazonaws.",{"Ref":"AWS::Region"},".events"]]}`,
		`{"Fn::Join":["",["com.amazonaws.",{"Ref":"AWS::Region"},".secretsmanager"]]}`
	require.ElementsMatch(t, []string{events, secrets}, endpoints(t, everything(t)))
	require.Equal(t, []string{events}, endpoints(t, byIam(t)), "no secret is read")
	require.Empty(t, endpoints(t, embedded(t)), "there is another way out")
	require.Empty(t, endpoints(t, minimal(t)))
}

func TestEndpointsAdmitTheFunctionsAndNobodyElse(t *testing.T) {
	for name, variant := range map[string]template{"made": everything(t), "given": byIam(t)} {
		var admitted []any
		group := variant.withPrefix(t, "AWS::EC2::SecurityGroup", "OutboxNetworkEndpointGroup")
		if inline, ok := group.properties["SecurityGroupIngress"].([]any); ok {
			for _, rule := range inline {
				admitted = append(admitted, at(rule, "SourceSecurityGroupId"))
			}
		}
		for _, rule := range variant.resources("AWS::EC2::SecurityGroupIngress") {
			if text(t, rule.properties["GroupId"]) == text(t, variant.groupID(t, "EndpointGroup")) {
				require.InDelta(t, 443, rule.properties["FromPort"], 0)
				admitted = append(admitted, rule.properties["SourceSecurityGroupId"])
			}
		}
		require.ElementsMatch(t, at(variant.function(t, "relay").properties, "VpcConfig", "SecurityGroupIds"), admitted, name)
	}
}

func TestLambdaMayMakeNetworkInterfacesOnlyInAVpc(t *testing.T) {
	for _, function := range functions {
		require.Equal(t, []any{"*"}, everything(t).allowed(t, function, "ec2:CreateNetworkInterface"), function)
		require.Nil(t, minimal(t).allowed(t, function, "ec2:CreateNetworkInterface"), function)
	}
}
