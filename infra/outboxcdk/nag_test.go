package outboxcdk_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
	"github.com/stretchr/testify/require"

	"outboxrelay/infra/outboxcdk"
)

// What AwsSolutions complains about, and why it is right as it is. A complaint
// that is not here fails the test, and so does one that is here for nothing.
var (
	always = map[string]string{
		"/Test/Outbox/Undelivered/Resource AwsSolutions-SQS3":       "it is where others put what they could not deliver",
		"/Test/Outbox/FailedInvocations/Resource AwsSolutions-SQS3": "it is where others put what they could not deliver",
	}
	inVpc = map[string]string{
		networkInterfaces("Relay"): networkReason, networkInterfaces("Cleanup"): networkReason, networkInterfaces("Lag"): networkReason,
		networkInterfaces("Migrate"): networkReason, networkInterfaces("Admin"): networkReason,
	}
)

const networkReason = "Lambda makes network interfaces, which have no ARN when it asks"

func networkInterfaces(function string) string {
	return "/Test/Outbox/" + function + "Role/DefaultPolicy/Resource AwsSolutions-IAM5[Resource::*]"
}

// complaints are those of AwsSolutions about a stack: where and which rule.
func complaints(t *testing.T, props outboxcdk.Props) (found []string) {
	t.Helper()
	app := newApp()
	app.Node().SetContext(jsii.String("@aws-cdk/core:annotationsInValidationReport"), false) // they are read here
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	build(t, stack, props)
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(nil), nil)
	annotations := assertions.Annotations_FromStack(stack)
	all := *annotations.FindError(jsii.String("*"), assertions.Match_AnyValue())
	all = append(all, *annotations.FindWarning(jsii.String("*"), assertions.Match_AnyValue())...)
	for _, complaint := range all {
		rule, _, _ := strings.Cut(fmt.Sprint(complaint.Entry.Data), ": ") //nolint:staticcheck // there is no other type in Go yet
		found = append(found, *complaint.Id+" "+rule)                     //nolint:staticcheck // as above
	}
	return found
}

func TestAwsSolutionsComplainsOfNothingBut(t *testing.T) {
	for name, variant := range map[string]struct {
		props    outboxcdk.Props
		accepted []map[string]string
	}{
		"with minimal settings": {minimalProps(), []map[string]string{always}},
		"with everything":       {everythingProps(), []map[string]string{always, inVpc}},
		"by IAM":                {iamProps(), []map[string]string{always, inVpc}},
	} {
		t.Run(name, func(t *testing.T) {
			var expected []string
			for _, accepted := range variant.accepted {
				expected = slices.AppendSeq(expected, maps.Keys(accepted))
			}
			require.ElementsMatch(t, expected, complaints(t, variant.props))
		})
	}
}
