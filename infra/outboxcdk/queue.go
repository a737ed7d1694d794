package outboxcdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// addQueues makes the queues of what went wrong on the way to a function and
// inside of it. Nobody works them off: the next run does what one left undone,
// and they tell why it was.
func (r *OutboxRelay) addQueues() {
	r.Undelivered = r.newQueue("Undelivered")
	r.FailedInvocations = r.newQueue("FailedInvocations")
}

func (r *OutboxRelay) newQueue(id string) awssqs.Queue {
	return awssqs.NewQueue(r, jsii.String(id), &awssqs.QueueProps{
		Encryption:      awssqs.QueueEncryption_SQS_MANAGED,
		EnforceSSL:      jsii.Bool(true),
		RetentionPeriod: awscdk.Duration_Days(jsii.Number(14)),
	})
}
