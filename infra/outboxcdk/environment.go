package outboxcdk

import (
	"maps"
	"strconv"

	"github.com/aws/jsii-runtime-go"
)

// environment is that of one function.
func (r *OutboxRelay) environment(function string) map[string]*string {
	texts := r.props.environment(function)
	texts["EVENT_BUS"] = *r.busText()
	environment := make(map[string]*string, len(texts))
	for key, text := range texts {
		environment[key] = jsii.String(text)
	}
	return environment
}

// environment is that of one function, by plain texts.
func (p Props) environment(function string) map[string]string {
	environment := maps.Clone(p.Environment)
	if environment == nil {
		environment = map[string]string{}
	}
	environment["OUTBOX_NAME"] = p.Name
	environment["OUTBOX_TABLE"] = p.Table
	environment["EVENT_BUS"] = p.Bus.name()
	if function == "relay" && p.Relay.Parallel != 1 {
		environment["RELAY_PARALLEL"] = strconv.Itoa(p.Relay.Parallel)
	}
	maps.Copy(environment, p.Database.environment(function))
	return environment
}

// name is that of the bus, or its ARN.
func (b Bus) name() string {
	if b.NewEventBus != "" {
		return b.NewEventBus
	}
	return b.EventBus
}

// environment has what says where the database is and who logs in. What is not
// set is left to the secret.
func (d Database) environment(function string) map[string]string {
	environment := map[string]string{}
	set := func(key, text string) {
		if text != "" {
			environment[key] = text
		}
	}
	set("PGHOST", d.host(function))
	if port := d.port(function); port != 0 {
		set("PGPORT", strconv.Itoa(port))
	}
	set("PGDATABASE", d.Name)
	set("PGSSLMODE", d.SSLMode)
	if d.IamAuth {
		set("DATABASE_IAM_AUTH", "true")
		set("PGUSER", d.user(function))
	} else {
		set("DATABASE_SECRET_ARN", d.secret(function))
	}
	return environment
}

// owned are keys of the environment that have a setting of their own, which does
// more than to set them.
var owned = map[string]string{
	"DATABASE_IAM_AUTH":   "databaseIamAuth",
	"DATABASE_SECRET_ARN": "databaseSecretArn",
	"DATABASE_URL":        "databaseHost, databasePort and databaseName",
	"EVENT_BUS":           "eventBus",
	"OUTBOX_NAME":         "outboxName",
	"OUTBOX_TABLE":        "outboxTable",
	"PGDATABASE":          "databaseName",
	"PGHOST":              "databaseHost",
	"PGPASSWORD":          "databaseSecretArn",
	"PGPORT":              "databasePort",
	"PGSSLMODE":           "databaseSslMode",
	"PGUSER":              "databaseUser",
	"RELAY_PARALLEL":      "relayParallel",
}

// Instead returns the setting, or several in the words of an error, that stands
// for a key of the functions' environment; empty: the key is set as it is.
func Instead(key string) string { return owned[key] }
