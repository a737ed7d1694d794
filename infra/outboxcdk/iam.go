package outboxcdk

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// user is that of one function, with RDS IAM.
func (d Database) user(function string) string {
	if user := d.Users[function]; user != "" {
		return user
	}
	return d.User
}

func (r *OutboxRelay) databaseUserArn(function string) *string {
	d := r.props.Database
	return awscdk.Stack_Of(r).FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("rds-db"), Resource: jsii.String("dbuser"),
		ResourceName: jsii.String(fmt.Sprintf("%s/%s", d.resourceID(function), d.user(function))),
		ArnFormat:    awscdk.ArnFormat_COLON_RESOURCE_NAME,
	})
}

const proxyPrefix = "prx-"

var (
	userName   = regexp.MustCompile(`^[A-Za-z0-9_.@+=,-]{1,63}$`)
	resourceID = regexp.MustCompile(`^(db|cluster|prx)-[A-Za-z0-9]+$`)
)

func (c *checker) iam(d Database) {
	const reason = "with databaseIamAuth, which needs no secret"
	c.unset("databaseSecretArn", d.SecretArn != "", reason)
	c.unset("databaseSecretKeyArn", d.SecretKeyArn != "", reason)
	for _, function := range functionNames {
		c.unset(function+"SecretArn", d.Secrets[function] != "", reason)
	}
	c.needed("databaseHost", d.Host)
	c.needed("databaseName", d.Name)
	c.needed("databaseResourceId", d.ResourceID)
	c.resources(d)
	c.users(d)
}

// needed notes what databaseIamAuth needs and has not.
func (c *checker) needed(setting, text string) {
	if text == "" {
		c.report(setting, "is not set: databaseIamAuth needs it")
	}
}

// resources refuses a login at the database with a permission for its proxy.
func (c *checker) resources(d Database) {
	const expected = "the resource id of the database, db-..., cluster-... or prx-..."
	c.match("databaseResourceId", d.ResourceID, resourceID, expected)
	c.match("migrateResourceId", d.MigrateResourceID, resourceID, expected)
	c.unset("migrateResourceId", d.MigrateResourceID != "" && d.MigrateHost == "", "without migrateHost")
	if d.MigrateHost != "" && d.MigrateResourceID == "" && strings.HasPrefix(d.ResourceID, proxyPrefix) {
		c.report("migrateResourceId", "is not set, and databaseResourceId is a proxy's: expected the resource id of the database at migrateHost, db-... or cluster-...")
	}
}

func (c *checker) users(d Database) {
	const expected = "a user's name of letters, digits and _.@+=,-, without wildcards"
	c.match("databaseUser", d.User, userName, expected)
	for _, function := range functionNames {
		c.match(function+"User", d.Users[function], userName, expected)
	}
	if missing := none("user", d.user); missing != "" {
		c.report("databaseUser", "is not set, and %s: databaseIamAuth needs it", missing)
	}
}
