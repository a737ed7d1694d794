package outboxcdk

import (
	"regexp"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/jsii-runtime-go"

	"outboxrelay/internal/config"
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

var newBus = regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,256}$`)

func (c *checker) bus(b Bus) {
	switch {
	case b.EventBus == "" && b.NewEventBus == "":
		c.report("eventBus", "is not set: expected the name or ARN of a bus, or newEventBus: EventBridge drops what is sent to a bus that does not exist")
	case b.EventBus != "" && b.NewEventBus != "":
		c.report("eventBus", "is set as well as newEventBus: expected one of them")
	}
	c.busName("eventBus", b.EventBus)
	c.match("newEventBus", b.NewEventBus, newBus, "a name of 1 to 256 letters, digits and .-_")
	if b.NewEventBus == "default" {
		c.report("newEventBus", `is "default": that bus exists, expected eventBus`)
	}
	for _, topic := range b.Topics {
		c.busName("topics", topic)
	}
	c.once("topics", b.Topics)
	c.policy(b)
	c.archive(b)
}

func (c *checker) busName(setting, bus string) {
	if bus != "" && !isToken(bus) && !config.IsEventBus(bus) {
		c.report(setting, "is %q: expected the name or ARN of an event bus", bus)
	}
}

func (c *checker) archive(b Bus) {
	if b.ArchiveDays < 0 {
		c.report("archiveDays", "is %d: expected a number of days, or 0 for none", b.ArchiveDays)
	}
	if b.ArchiveDays > 0 && strings.HasPrefix(b.EventBus, "arn:") {
		c.report("archiveDays", "is set: expected a bus of this account for it, by its name, or newEventBus")
	}
}
