package outboxcdk

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// form is what the value of a key has to look like, and the same in words.
type form struct {
	reader   string
	pattern  *regexp.Regexp
	expected string
}

const (
	sdk    = "The AWS SDK's"
	golang = "Go's"
	driver = "The database driver's"
)

var (
	url = form{sdk, regexp.MustCompile(`^https?://[^\s/?#]+(/\S*)?$`), "a URL that begins with https:// or http://"}
	// Case does not matter to the SDK, but this is how all our booleans are written.
	trueOrFalse = form{sdk, regexp.MustCompile(`^(true|false)$`), "true or false"}
)

// further are keys of the functions' environment that are not read by
// internal/config, but by the libraries that the functions are made of. A function
// whose library refuses its environment never starts.
var further = map[string]form{
	"AWS_ENDPOINT_URL":                 url,
	"AWS_ENDPOINT_URL_EVENTBRIDGE":     url,
	"AWS_ENDPOINT_URL_SECRETS_MANAGER": url,
	dualStack:                          trueOrFalse,
	fips:                               trueOrFalse,
	"GODEBUG":                          {golang, regexp.MustCompile(`^\w+=[^\s,]*(,\w+=[^\s,]*)*$`), "name=value, with commas between several"},
	"GOGC":                             {golang, regexp.MustCompile(`^(off|\d{1,9})$`), "a percentage such as 100, or off"},
	"GOMEMLIMIT":                       {golang, regexp.MustCompile(`^(off|\d{1,18}B?|\d{1,8}[KMG]iB|\d{1,3}TiB)$`), "a size such as 200MiB, or off"},
	"PGSSLROOTCERT":                    {driver, regexp.MustCompile(`^(system|/\S+)$`), "system, or a file by its whole path, as /var/task/bundle.pem"},
}

const (
	dualStack = "AWS_USE_DUALSTACK_ENDPOINT"
	fips      = "AWS_USE_FIPS_ENDPOINT"
)

// FurtherKeys are keys of the functions' environment that their libraries read, sorted.
// What they are set to is checked too.
func FurtherKeys() []string { return slices.Sorted(maps.Keys(further)) }

// FurtherKeyUsage says whose such a key is, and what it takes.
func FurtherKeyUsage(key string) string {
	return further[key].reader + ": " + further[key].expected + "."
}

var environmentKey = regexp.MustCompile(`^[A-Za-z]\w+$`)

// lambdas are keys that Lambda sets, and refuses to have set.
var lambdas = []string{
	"AWS_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_EXECUTION_ENV", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_FUNCTION_NAME",
	"AWS_LAMBDA_FUNCTION_VERSION", "AWS_LAMBDA_INITIALIZATION_TYPE", "AWS_LAMBDA_LOG_GROUP_NAME", "AWS_LAMBDA_LOG_STREAM_NAME", "AWS_LAMBDA_RUNTIME_API",
	"AWS_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "LAMBDA_RUNTIME_DIR", "LAMBDA_TASK_ROOT",
}

func (c *checker) environment(p Props) {
	for _, key := range slices.Sorted(maps.Keys(p.Environment)) {
		switch {
		case !environmentKey.MatchString(key):
			c.report("environment", "has the key %q: expected a letter, then letters, digits and _", key)
		case slices.Contains(lambdas, key):
			c.report(key, "is set: expected it not to be, since Lambda sets it")
		case Instead(key) != "":
			c.report(key, "is set: expected %s instead", Instead(key))
		}
		if form, ok := further[key]; ok {
			c.match(key, p.Environment[key], form.pattern, form.expected)
		}
	}
	if p.Environment["EVENT_ENDPOINT_ID"] != "" {
		c.report("EVENT_ENDPOINT_ID", "is set: a global endpoint takes permissions in two Regions, which are not made here")
	}
	c.endpointNames(p)
	c.environmentSize(p)
}

// endpointNames refuses what sends requests past the endpoints that are made.
func (c *checker) endpointNames(p Props) {
	for _, key := range []string{dualStack, fips} {
		if p.Network.Egress == egressEndpoints && p.Environment[key] == "true" {
			c.report(key, "is true: expected it not to be with egress=endpoints. The endpoints that are made answer for the services' plain names, "+
				"and every call to another name would hang: take nat, or existing-endpoints and have endpoints for these names")
		}
	}
}

const (
	// environmentMax is how many bytes the environment of a function may have, as the
	// JSON object that Lambda measures.
	environmentMax = 4096
	// laterLength is how long a value is taken to be that is known later: as long as
	// the ARN of a secret.
	laterLength = 100
)

// environmentSize counts with what is added to Environment. Most is the same for all
// functions, so one of them is named.
func (c *checker) environmentSize(p Props) {
	for _, function := range functionNames {
		environment := p.environment(function)
		for key, text := range environment {
			if isToken(text) {
				environment[key] = strings.Repeat("x", laterLength)
			}
		}
		if size := jsonLength(environment); size > environmentMax {
			longest := slices.MaxFunc(slices.Sorted(maps.Keys(environment)), func(a, b string) int { return len(environment[a]) - len(environment[b]) })
			c.report("environment", "of %s is %d bytes as JSON, with all that is added to it: expected at most %d, which Lambda takes. The longest is %s",
				function, size, environmentMax, longest)
			return
		}
	}
}

// jsonLength is that of an object of texts, in which only what JSON itself escapes is.
func jsonLength(texts map[string]string) int {
	var encoded strings.Builder
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(texts) // of texts there is none that it refuses
	return len(strings.TrimSpace(encoded.String()))
}
