package outboxcdk

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const postgresPort = 5432

// host is that of one function; empty: the secret has it.
func (d Database) host(function string) string {
	if function == "migrate" {
		return cmp.Or(d.MigrateHost, d.Host)
	}
	return d.Host
}

// port is that of one function; 0: the secret has it.
func (d Database) port(function string) int {
	if function == "migrate" {
		return cmp.Or(d.MigratePort, d.Port)
	}
	return d.Port
}

// resourceID is that of one function, for RDS IAM.
func (d Database) resourceID(function string) string {
	if function == "migrate" {
		return cmp.Or(d.MigrateResourceID, d.ResourceID)
	}
	return d.ResourceID
}

// hostMax is how long a name can be in the DNS.
const hostMax = 253

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

func (c *checker) database(d Database) {
	c.host("databaseHost", d.Host)
	c.host("migrateHost", d.MigrateHost)
	c.port("databasePort", d.Port)
	c.port("migratePort", d.MigratePort)
	c.functionKeys("Secrets", d.Secrets)
	c.functionKeys("Users", d.Users)
	if d.IamAuth {
		c.iam(d)
	} else {
		c.secrets(d)
	}
}

func (c *checker) host(setting, host string) {
	if len(host) > hostMax && !isToken(host) {
		c.report(setting, "has %d characters: expected the name of a host, which has at most %d", len(host), hostMax)
		return
	}
	c.match(setting, host, hostName, "the name or IPv4 address of a host")
}

func (c *checker) port(setting string, port int) {
	if port < 0 || port > 65535 {
		c.report(setting, "is %d: expected a port from 1 to 65535", port)
	}
}

func (c *checker) functionKeys(field string, of map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if !slices.Contains(functionNames, name) {
			c.report("Database."+field, "has %q: expected one of %s", name, strings.Join(functionNames, ", "))
		}
	}
}

// none says which functions have none of what there is for each, in the words of
// an error; empty: each has it.
func none(what string, of func(function string) string) string {
	missing := slices.DeleteFunc(FunctionNames(), func(function string) bool { return of(function) != "" })
	switch len(missing) {
	case 0:
		return ""
	case 1:
		return missing[0] + " has no " + what + " of its own"
	default:
		return strings.Join(missing, ", ") + " have no " + what + " of their own"
	}
}

// portWarnings is of a pooler's port at a host that is none.
func (d Database) portWarnings() []warning {
	if d.MigrateHost == "" || d.MigratePort != 0 || d.Port == 0 || d.Port == postgresPort {
		return nil
	}
	return []warning{{"migratePort", fmt.Sprintf(
		"migratePort is not set: migrate connects to migrateHost on the port of databaseHost, %d. Set it, also to the same", d.Port)}}
}
