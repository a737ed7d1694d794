package outboxcdk

import (
	"fmt"
	"regexp"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// secret is that of one function, by its ARN.
func (d Database) secret(function string) string {
	if secret := d.Secrets[function]; secret != "" {
		return secret
	}
	return d.SecretArn
}

// grantSecret needs the complete ARN: a wildcard for its suffix would match other
// secrets too.
func (r *OutboxRelay) grantSecret(role awsiam.Role, function string) {
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

var (
	secretArn = regexp.MustCompile(`^arn:aws[\w-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@!-]+-[A-Za-z0-9]{6}$`)
	keyArn    = regexp.MustCompile(`^arn:aws[\w-]*:kms:[a-z0-9-]+:\d{12}:key/[\w-]+$`)
)

func (c *checker) secrets(d Database) {
	const reason = "without databaseIamAuth: the secret has the user"
	c.unset("databaseUser", d.User != "", reason)
	c.unset("databaseResourceId", d.ResourceID != "", "without databaseIamAuth")
	c.unset("migrateResourceId", d.MigrateResourceID != "", "without databaseIamAuth")
	c.secret("databaseSecretArn", d.SecretArn)
	for _, function := range functionNames {
		c.unset(function+"User", d.Users[function] != "", reason)
		c.secret(function+"SecretArn", d.Secrets[function])
	}
	if missing := none("secret", d.secret); missing != "" {
		c.report("databaseSecretArn", "is not set, and %s: expected the complete ARN of a secret with username and password, or databaseIamAuth", missing)
	}
	c.match("databaseSecretKeyArn", d.SecretKeyArn, keyArn, "the ARN of a KMS key, which ends in key/<id>: an alias grants nothing")
}

// secret does not show the text: it may be the password, put there by mistake.
func (c *checker) secret(setting, arn string) {
	if arn != "" && !isToken(arn) && !secretArn.MatchString(arn) {
		c.report(setting, "(not shown) is no complete ARN of a secret: expected "+
			"arn:aws:secretsmanager:<region>:<account>:secret:<name>-<six characters>, as the console shows it")
	}
}

// word is what six characters at random hardly ever are: one ARN of two hundred
// ends so, and every name such as prod-outbox.
var word = regexp.MustCompile(`-[a-z]{6}$`)

// suffixWarnings is of ARNs that may lack their suffix.
func (d Database) suffixWarnings() (found []warning) {
	check := func(setting, arn string) {
		if suffix := word.FindString(arn); suffix != "" && !isToken(arn) {
			found = append(found, warning{setting, fmt.Sprintf(
				"%s ends in %s, which looks like the end of the secret's name: expected the complete ARN, with six more characters, "+
					"as the console shows it. Without them no function may read the secret", setting, suffix)})
		}
	}
	check("databaseSecretArn", d.SecretArn)
	for _, function := range functionNames {
		check(function+"SecretArn", d.Secrets[function])
	}
	return found
}
