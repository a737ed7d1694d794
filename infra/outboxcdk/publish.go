package outboxcdk

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
)

var publishActions = []string{"events:PutEvents", "events:DescribeEventBus"}

// grantPublish lets the relay publish to the buses that are named, and to no others.
func (r *OutboxRelay) grantPublish(role awsiam.Role) {
	allow(role, "Publish", publishActions, *r.busArns())
}

const (
	// policyMax is how many characters of a managed policy IAM takes. The CDK moves a
	// statement to one once a role's inline policies are long, and cannot divide it.
	policyMax = 6144
	// publishPolicy is what such a policy has around the ARNs.
	publishPolicy = `{"Statement":[{"Action":["events:PutEvents","events:DescribeEventBus"],"Effect":"Allow","Resource":[],"Sid":"Publish"}],"Version":"2012-10-17"}`
	// longestBus is the ARN of a bus without its name, with partition and Region as
	// long as they get.
	longestBus = "arn:aws-us-gov:events:ap-northeast-1:123456789012:event-bus/"
)

// policy refuses more buses than the relay's policy has room for.
func (c *checker) policy(b Bus) {
	length, fit := len(publishPolicy)+arnLength(b.name()), 0
	for _, topic := range b.Topics {
		if length += arnLength(topic); length <= policyMax {
			fit++
		}
	}
	if length > policyMax {
		c.report("topics", "has %d buses, whose ARNs make the relay's policy %d characters long: expected no more than the first %d, which fill the %d that IAM takes. "+
			"Publish to one bus and let its rules forward to others, or give some buses an outbox of their own", len(b.Topics), length, fit, policyMax)
	}
}

// arnLength is that of a bus's ARN, in quotes and with a comma. What is known later is
// taken to be as long as an ARN with a long name.
func arnLength(bus string) int {
	const around, later = len(`"",`), 150
	switch {
	case isToken(bus):
		return around + later
	case strings.HasPrefix(bus, "arn:"):
		return around + len(bus)
	}
	return around + len(longestBus) + len(bus)
}
