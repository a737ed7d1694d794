package outboxcdk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/infra/outboxcdk"
)

// topics are so many buses with names, or what comes before them, as long as that.
func topics(count, length int, before string) (buses []string) {
	for i := range count {
		name := fmt.Sprintf("%s%03d", before, i)
		buses = append(buses, name+strings.Repeat("b", max(0, length-len(name))))
	}
	return buses
}

// publishing is the document that allows to publish, as a deployment in the partition
// and the Region with the longest names has it, and the type of what it is part of.
func publishing(t *testing.T, of template) (document, kind string) {
	t.Helper()
	for _, kind := range []string{"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"} {
		for _, policy := range of.resources(kind) {
			if found := text(t, resolved(policy.properties["PolicyDocument"])); strings.Contains(found, "events:PutEvents") {
				return found, kind
			}
		}
	}
	require.Fail(t, "nobody may publish")
	return "", ""
}

// resolved is a part of a template with its references to the place of the deployment
// resolved.
func resolved(value any) any {
	switch value := value.(type) {
	case object:
		if parts, ok := at(value, "Fn::Join", 1).([]any); ok {
			var joined strings.Builder
			for _, part := range parts {
				fmt.Fprint(&joined, resolved(part))
			}
			return joined.String()
		}
		if name, ok := value["Ref"].(string); ok {
			return map[string]string{"AWS::Partition": "aws-us-gov", "AWS::Region": "ap-northeast-1", "AWS::AccountId": "123456789012"}[name]
		}
		if _, ok := value["Fn::GetAtt"]; ok { // of the bus that is made
			return "arn:aws-us-gov:events:ap-northeast-1:123456789012:event-bus/orders"
		}
		all := object{}
		for key, part := range value {
			all[key] = resolved(part)
		}
		return all
	case []any:
		var all []any
		for _, part := range value {
			all = append(all, resolved(part))
		}
		return all
	}
	return value
}

func TestThereAreAsManyTopicsAsThePolicyHasRoomFor(t *testing.T) {
	const here, elsewhere = "", "arn:aws:events:eu-west-1:210987654321:event-bus/"
	for name, of := range map[string]struct {
		fit, length int
		before      string
		kind        string
	}{
		"with short names": {87, 5, here, "AWS::IAM::ManagedPolicy"},
		"with names of 30": {63, 30, here, "AWS::IAM::ManagedPolicy"},
		"with long names":  {18, 256, here, "AWS::IAM::Policy"},
		"by ARN":           {71, 80, elsewhere, "AWS::IAM::Policy"},
	} {
		t.Run(name, func(t *testing.T) {
			props := everythingProps() // whose relay may do the most else
			props.Bus.Topics = topics(of.fit, of.length, of.before)
			require.NoError(t, props.Validate())
			document, kind := publishing(t, once(stackOf(func() outboxcdk.Props { return props }, nil))(t))
			require.Equal(t, of.kind, kind)
			require.LessOrEqual(t, len(document), map[string]int{"AWS::IAM::ManagedPolicy": 6144, "AWS::IAM::Policy": 10240}[kind])

			props.Bus.Topics = topics(of.fit+2, of.length, of.before)
			require.ErrorContains(t, props.Validate(), fmt.Sprintf("topics has %d buses, whose ARNs make the relay's policy ", of.fit+2))
			require.ErrorContains(t, props.Validate(), fmt.Sprintf("expected no more than the first %d, which fill the 6144 that IAM takes", of.fit))
		})
	}
}
