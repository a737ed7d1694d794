package outboxcdk

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsschedulertargets"
	"github.com/aws/jsii-runtime-go"
)

// addSchedules makes a schedule for each function that runs by itself, and one
// for each relay that is to be at work at once.
func (r *OutboxRelay) addSchedules() {
	r.ScheduleGroup = awsscheduler.NewScheduleGroup(r, jsii.String("Schedules"), &awsscheduler.ScheduleGroupProps{
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	r.schedulerRole = r.newSchedulerRole()
	for i := range r.props.Relay.Parallel {
		r.addSchedule(fmt.Sprintf("RelaySchedule%d", i+1), r.Relay, r.props.Relay.Every)
	}
	r.addSchedule("CleanupSchedule", r.Cleanup, r.props.Cleanup.Every)
	r.addSchedule("LagSchedule", r.Lag, r.props.Lag.Every)
	if r.props.partitioned() {
		r.addSchedule("MigrateSchedule", r.Migrate, r.props.Migrate.Every)
	}
}

// addSchedule neither tries again nor waits: the next invocation is the retry.
func (r *OutboxRelay) addSchedule(id string, function awslambda.Function, every time.Duration) {
	schedule := awsscheduler.NewSchedule(r, jsii.String(id), &awsscheduler.ScheduleProps{
		Schedule:      awsscheduler.ScheduleExpression_Rate(duration(every)),
		ScheduleGroup: r.ScheduleGroup,
		TimeWindow:    awsscheduler.TimeWindow_Off(),
		Enabled:       jsii.Bool(r.props.Scheduled),
		Target: awsschedulertargets.NewLambdaInvoke(function, &awsschedulertargets.ScheduleTargetBaseProps{
			Input:           awsscheduler.ScheduleTargetInput_FromObject(map[string]any{}),
			MaxEventAge:     duration(maxEventAge),
			RetryAttempts:   jsii.Number(0),
			DeadLetterQueue: r.Undelivered,
			Role:            r.schedulerRole.WithoutPolicyUpdates(nil),
		}),
	})
	r.schedules = append(r.schedules, schedule)
}

// newSchedulerRole makes one that may invoke the scheduled functions and nothing
// else, for schedules of this group. (The CDK's own may invoke their versions too.)
func (r *OutboxRelay) newSchedulerRole() awsiam.Role {
	functions := []*string{r.Relay.FunctionArn(), r.Cleanup.FunctionArn(), r.Lag.FunctionArn()}
	if r.props.partitioned() {
		functions = append(functions, r.Migrate.FunctionArn())
	}
	return awsiam.NewRole(r, jsii.String("SchedulerRole"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("scheduler.amazonaws.com"), &awsiam.ServicePrincipalOpts{
			Conditions: &map[string]any{"StringEquals": map[string]any{
				"aws:SourceAccount": awscdk.Stack_Of(r).Account(),
				"aws:SourceArn":     r.ScheduleGroup.ScheduleGroupArn(),
			}},
		}),
		InlinePolicies: &map[string]awsiam.PolicyDocument{
			"Invoke":      statement("lambda:InvokeFunction", functions),
			"Undelivered": statement("sqs:SendMessage", []*string{r.Undelivered.QueueArn()}),
		},
	})
}

// statement is a document of its own.
func statement(action string, arns []*string) awsiam.PolicyDocument {
	return awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &[]awsiam.PolicyStatement{
		awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings(action), Resources: &arns}),
	}})
}
