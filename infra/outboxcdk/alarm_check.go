package outboxcdk

import (
	"regexp"
	"time"

	"outboxrelay/internal/config"
)

// outboxName and runbookURL are as long as they can be in the topic's display name
// and in the description of an alarm.
var (
	outboxName = regexp.MustCompile(`^.{1,64}$`)
	runbookURL = regexp.MustCompile(`^https?://\S{1,500}$`)
	topicArn   = regexp.MustCompile(`^arn:aws[\w-]*:sns:[a-z0-9-]+:\d{12}:[\w-]+$`)
	address    = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)
)

func (c *checker) outbox(p Props) {
	c.match("outboxName", p.Name, outboxName, "at most 64 characters")
}

func (c *checker) alarms(a Alarms) {
	c.match("alarmTopicArn", a.TopicArn, topicArn, "the ARN of a standard SNS topic")
	c.match("alarmEmail", a.Email, address, "an address")
	c.match("runbookUrl", a.RunbookURL, runbookURL, "a URL, https://..., of at most 500 characters")
	c.unset("alarmEmail", a.Email != "" && a.TopicArn != "", "with alarmTopicArn: subscribe to that topic")
	c.unset("alarmEncrypted", a.Encrypted && a.TopicArn != "", "with alarmTopicArn: that topic is as it is")
	if a.Lag < time.Minute || a.Lag > 24*time.Hour {
		c.report("alarmLag", "is %s: expected from 1m to 24h", config.Brief(a.Lag))
	}
}
