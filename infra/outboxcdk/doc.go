// Package outboxcdk is the outbox relay as a construct of the AWS CDK: functions,
// schedules, permissions, alarms and a dashboard. The app beside it makes a stack
// of one; a CDK app in Go can have it among its own:
//
//	props := outboxcdk.NewProps()
//	props.Database.SecretArn = *database.Secret().SecretArn()
//	props.Network.Vpc, props.Network.Egress = vpc, "nat"
//	props.Network.DatabaseSecurityGroupID = *(*database.Connections().SecurityGroups())[0].SecurityGroupId()
//	props.Bus.NewEventBus = "orders"
//	relay := outboxcdk.NewOutboxRelay(stack, "Outbox", props)
//	relay.Node().AddDependency(database) // migrate runs once it is there
//	relay.GrantInvoke(application)       // who nudges the relay after a commit
//	relay.GrantAdmin(operators)
package outboxcdk
