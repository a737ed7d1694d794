package outboxcdk

import (
	"errors"
	"strings"
)

// arn is a setting that is one.
type arn struct{ setting, text string }

// arns are all that are known, of what has to be in the functions' Region.
func (p Props) arns() (known []arn) {
	all := []arn{
		{"databaseSecretArn", p.Database.SecretArn},
		{"databaseSecretKeyArn", p.Database.SecretKeyArn},
		{"eventBus", p.Bus.EventBus},
		{"alarmTopicArn", p.Alarms.TopicArn},
	}
	for _, function := range functionNames {
		all = append(all, arn{function + "SecretArn", p.Database.Secrets[function]})
	}
	for _, topic := range p.Bus.Topics {
		all = append(all, arn{"topics", topic})
	}
	for _, a := range all {
		if a.region() != "" {
			known = append(known, a)
		}
	}
	return known
}

// region is empty where it is not known.
func (a arn) region() string {
	parts := strings.Split(a.text, ":")
	if len(parts) < 6 || parts[0] != "arn" || isToken(a.text) {
		return ""
	}
	return parts[3]
}

// regions notes what is in another Region than the first.
func (c *checker) regions(p Props) {
	known := p.arns()
	for i := 1; i < len(known); i++ {
		if first := known[0]; known[i].region() != first.region() {
			c.report(known[i].setting, "is in %s and %s in %s: expected one Region for all", known[i].region(), first.setting, first.region())
		}
	}
}

// checkRegion compares all with that of the stack, where it is known.
func (p Props) checkRegion(region string) error {
	if isToken(region) {
		return nil
	}
	c := &checker{}
	for _, a := range p.arns() {
		if a.region() != region {
			c.report(a.setting, "is in %s: expected the Region of the stack, %s", a.region(), region)
		}
	}
	return errors.Join(c.problems...)
}
