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
}

// leastLag and lagMax bound Alarms.Lag. The most leaves room for a relay that is
// invoked once a day.
const (
	leastLag = time.Minute
	lagMax   = 72 * time.Hour
)

// healthyLag is how long an event may wait for the next run while all is well.
func healthyLag(r Relay, s settings) time.Duration {
	if s.relay.PollInterval > 0 { // a run is always at work
		return leastLag
	}
	return r.Every + jitter
}

// alarmLag is the default of Alarms.Lag: a single run may fail, or its event be tried again,
// without an alarm.
func (p Props) alarmLag() time.Duration {
	return max(5*time.Minute, 2*healthyLag(p.Relay, p.settings))
}

// alarmLag refuses a threshold that would be crossed while all is well.
func (c *checker) alarmLag(p Props, s settings, refused []string) {
	lag := p.Alarms.Lag
	if lag == 0 || !sound(refused, "RELAY_POLL_INTERVAL") {
		return
	}
	if lag < leastLag || lag > lagMax {
		c.report("alarmLag", "is %s: expected from %s to %s, or it unset", config.Brief(lag), config.Brief(leastLag), config.Brief(lagMax))
	} else if least := healthyLag(p.Relay, s); lag < least {
		c.report("alarmLag", "is %s: expected it unset, or at least %s, relayEvery and a minute: an event may wait so long while all is well",
			config.Brief(lag), config.Brief(least))
	}
}
