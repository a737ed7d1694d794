package outboxcdk

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// grantDatabase lets one function log in as who it is, and as nobody else.
func (r *OutboxRelay) grantDatabase(role awsiam.Role, function string) {
	if r.props.Database.IamAuth {
		allow(role, "Connect", []string{"rds-db:connect"}, []*string{r.databaseUserArn(function)})
		return
	}
	// The ARN is complete: a wildcard for its suffix would match other secrets too.
	allow(role, "ReadSecret", []string{"secretsmanager:GetSecretValue"}, []*string{jsii.String(r.props.Database.secret(function))})
	if key := r.props.Database.SecretKeyArn; key != "" {
		r.grantDecrypt(role, key)
	}
}

// grantDecrypt allows it for Secrets Manager's sake only. In some partitions KMS
// knows the service by another domain.
func (r *OutboxRelay) grantDecrypt(role awsiam.Role, key string) {
	stack := awscdk.Stack_Of(r)
	service := "secretsmanager." + *stack.Region() + "."
	role.AddToPrincipalPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String("DecryptSecret"), Actions: jsii.Strings("kms:Decrypt"), Resources: jsii.Strings(key),
		Conditions: &map[string]any{
			"StringEquals": map[string]any{"kms:ViaService": []string{service + "amazonaws.com", service + *stack.UrlSuffix()}},
		},
	}))
}

func (r *OutboxRelay) databaseUserArn(function string) *string {
	return awscdk.Stack_Of(r).FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("rds-db"), Resource: jsii.String("dbuser"),
		ResourceName: jsii.String(fmt.Sprintf("%s/%s", r.props.Database.ResourceID, r.props.Database.user(function))),
		ArnFormat:    awscdk.ArnFormat_COLON_RESOURCE_NAME,
	})
}
