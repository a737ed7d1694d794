package eventbridge

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"
)

// Envelope is the form of an event's Detail.
type Envelope string

// The envelopes; docs/events.md has their members.
const (
	Metadata    Envelope = "metadata"    // {"metadata":{...},"data":<payload>}
	CloudEvents Envelope = "cloudevents" // CloudEvents 1.0, structured JSON
	Raw         Envelope = "raw"         // the payload itself, which has to be an object
)

// BusCheck says whether a bus has to be known to exist before events are sent to it.
type BusCheck string

// The checks.
const (
	BusRequire BusCheck = "require" // nothing is published without DescribeEventBus's consent
	BusWarn    BusCheck = "warn"    // where DescribeEventBus is not permitted, log a warning once a bus and publish
	BusOff     BusCheck = "off"     // never ask
)

// What EventBridge allows, and what stands in for zero values.
const (
	maxEntries         = 10
	defaultSource      = "outbox"
	defaultMaxBytes    = 1_000_000
	defaultTimeout     = 5 * time.Second
	defaultConcurrency = 64
)

// Config of a Publisher. The zero value works.
type Config struct {
	// DefaultSource is the Source of events that have none. Empty: "outbox".
	DefaultSource string

	// Envelope of every event. Empty: Metadata.
	Envelope Envelope

	// BusCheck before publishing to a bus. Empty: BusWarn.
	BusCheck BusCheck

	// EndpointID of a global endpoint, as "abcde.veo", through which everything is published. Empty: the Region's endpoint.
	EndpointID string

	// MaxEntries of one request, 1 to 10. Zero, and anything above what EventBridge takes: 10.
	MaxEntries int

	// MaxBytes of one request's entries by EventBridge's own formula. Zero: 1,000,000. Regions in China document 262,144.
	MaxBytes int

	// Timeout of one call, from connecting to the last byte of the reply. Zero: 5 seconds.
	Timeout time.Duration

	// Concurrency is how many calls are made at a time: so many connections are kept open. Zero: 64.
	Concurrency int

	// Logger for warnings. Nil: slog.Default().
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.DefaultSource = cmp.Or(c.DefaultSource, defaultSource)
	c.Envelope = cmp.Or(c.Envelope, Metadata)
	c.BusCheck = cmp.Or(c.BusCheck, BusWarn)
	c.MaxEntries = min(cmp.Or(c.MaxEntries, maxEntries), maxEntries)
	c.MaxBytes = cmp.Or(c.MaxBytes, defaultMaxBytes)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Concurrency = cmp.Or(c.Concurrency, defaultConcurrency)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

var endpointPattern = regexp.MustCompile(`^[A-Za-z0-9-]+\.[A-Za-z0-9-]+$`)

// Validate reports every setting with which no event, or not one as it should be, would reach a bus. To be called at
// start-up: later such a setting would turn up as a flaw of each row.
func (c Config) Validate() error {
	c = c.withDefaults()
	return errors.Join(
		unless(!strings.HasPrefix(c.DefaultSource, awsPrefix), "source %q: the prefix %q is reserved by AWS", c.DefaultSource, awsPrefix),
		unless(c.Envelope == Metadata || c.Envelope == CloudEvents || c.Envelope == Raw,
			"envelope %q: use metadata, cloudevents or raw", c.Envelope),
		unless(c.BusCheck == BusRequire || c.BusCheck == BusWarn || c.BusCheck == BusOff,
			"bus check %q: use require, warn or off", c.BusCheck),
		unless(c.EndpointID == "" || len(c.EndpointID) <= 50 && endpointPattern.MatchString(c.EndpointID),
			"endpoint id %q: give the id of a global endpoint, as abcde.veo, not its URL or ARN", c.EndpointID),
		unless(c.MaxEntries >= 1, "entries of a request: %d, need 1 to %d", c.MaxEntries, maxEntries),
		unless(c.MaxBytes >= 1, "bytes of a request: %d, need 1 or more", c.MaxBytes),
		unless(c.Timeout > 0, "timeout: %s, need more than 0", c.Timeout),
		unless(c.Concurrency >= 1, "concurrency: %d, need 1 or more", c.Concurrency),
	)
}

func unless(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
