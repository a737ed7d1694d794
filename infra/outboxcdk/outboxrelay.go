package outboxcdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// OutboxRelay is the relay of one outbox.
type OutboxRelay struct {
	constructs.Construct

	Relay   awslambda.Function
	Cleanup awslambda.Function
	Lag     awslambda.Function
	Migrate awslambda.Function
	Admin   awslambda.Function

	// ScheduleGroup has all schedules of this outbox and no others.
	ScheduleGroup awsscheduler.ScheduleGroup
	// Undelivered gets what Scheduler could not hand to Lambda.
	Undelivered awssqs.Queue
	// FailedInvocations gets the asynchronous invocations that ended in an error
	// or were dropped.
	FailedInvocations awssqs.Queue
	// EventBus is the bus of rows without topic.
	EventBus awsevents.IEventBus

	// Topic is told when an alarm rings and when it is over.
	Topic awssns.ITopic
	// Alarms are all of them. Unhealthy rings while any of them does, and tells
	// nobody.
	Alarms    []awscloudwatch.Alarm
	Unhealthy awscloudwatch.CompositeAlarm
	Dashboard awscloudwatch.Dashboard

	props   Props // complete: all that is derived is set
	network network

	schedulerRole awsiam.Role
	schedules     []awsscheduler.Schedule
}

// NewOutboxRelay adds a relay to a scope. It panics, as constructs do, if the props
// are wrong or there are no binaries: Props.Validate and Build say so before.
func NewOutboxRelay(scope constructs.Construct, id string, props Props) *OutboxRelay {
	props, err := props.complete(scope)
	if err != nil {
		panic(err) //nolint:forbidigo // the only way a construct has to refuse
	}
	r := &OutboxRelay{props: props}
	constructs.NewConstruct_Override(r, scope, jsii.String(id)) // so that r itself can be given to the CDK
	r.addWarnings()
	r.addQueues()
	r.addBus()
	r.addNetwork()
	r.addFunctions()
	r.addSchedules()
	r.addMigration()
	r.addAlarms()
	r.addDashboard()
	return r
}
