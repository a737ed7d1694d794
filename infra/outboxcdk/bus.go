package outboxcdk

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/jsii-runtime-go"
)

func (r *OutboxRelay) addBus() {
	r.EventBus = r.newOrExistingBus()
	if days := r.props.Bus.ArchiveDays; days > 0 {
		// The construct of a lower level, since only it keeps all events, whatever
		// they look like.
		awsevents.NewCfnArchive(r, jsii.String("Archive"), &awsevents.CfnArchiveProps{
			SourceArn:     r.EventBus.EventBusArn(),
			RetentionDays: jsii.Number(days),
			Description:   jsii.String("What was published by the outbox relay and others, for a replay"),
		})
	}
}

func (r *OutboxRelay) newOrExistingBus() awsevents.IEventBus {
	if name := r.props.Bus.NewEventBus; name != "" {
		return awsevents.NewEventBus(r, jsii.String("EventBus"), &awsevents.EventBusProps{EventBusName: jsii.String(name)})
	}
	return awsevents.EventBus_FromEventBusArn(r, jsii.String("EventBus"), r.busArn(r.props.Bus.EventBus))
}

// busText is the bus as the functions get it: a name stays a name, since a
// paused bus is spelled the same way.
func (r *OutboxRelay) busText() *string {
	if r.props.Bus.NewEventBus != "" {
		return r.EventBus.EventBusName()
	}
	return jsii.String(r.props.Bus.EventBus)
}

// busArns are those of all buses that the relay publishes to.
func (r *OutboxRelay) busArns() *[]*string {
	arns := []*string{r.EventBus.EventBusArn()}
	for _, topic := range r.props.Bus.Topics {
		arns = append(arns, r.busArn(topic))
	}
	return &arns
}

// busArn is the ARN of a bus by its name, in this account and Region, or as it is.
func (r *OutboxRelay) busArn(bus string) *string {
	if strings.HasPrefix(bus, "arn:") || isToken(bus) {
		return jsii.String(bus)
	}
	return awscdk.Stack_Of(r).FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("events"), Resource: jsii.String("event-bus"), ResourceName: jsii.String(bus),
	})
}
