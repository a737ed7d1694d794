package config

import (
	"log/slog"
	"regexp"
	"strings"
	"time"
)

// Database says how to reach the database. Variables of libpq that are not
// here are left to the driver, which reads them itself.
type Database struct {
	// URL is a URL or keyword string; empty: the libpq variables alone. It
	// may hold a password.
	URL string
	// SecretARN is the Secrets Manager secret with user name and password,
	// and with host, port and database where they are not set otherwise.
	SecretARN string
	// IAMAuth: tokens of RDS IAM take the password's place.
	IAMAuth bool
	// ConnectTimeout limits one attempt to connect.
	ConnectTimeout time.Duration
	// Host, Port, Name, User and SSLMode are PGHOST, PGPORT, PGDATABASE, PGUSER
	// and PGSSLMODE; empty: not set. The driver reads them too: these tell what
	// is set, for what to do where it is not.
	Host, Port, Name, User, SSLMode string
}

// Outbox says which outbox is served, and under what name it is measured.
type Outbox struct {
	Table Table
	// Name is the metrics' dimension and a field of the logs.
	Name string
	// MetricsNamespace is CloudWatch's.
	MetricsNamespace string
}

// EventBridge says where events go, and how.
type EventBridge struct {
	Bus        string        // name or ARN, for rows without topic
	Source     string        // for rows without one
	Envelope   string        // metadata, cloudevents or raw
	BusCheck   string        // require, warn or off
	EndpointID string        // of a global endpoint; empty: none
	MaxEntries int           // of one request
	MaxBytes   int           // of one request's entries together
	Timeout    time.Duration // of one attempt
}

// publishWindow is how long a claimed batch stays claimed at the least: it has
// to be published within. (It is outbox.PublishWindow.)
const publishWindow = 15 * time.Second

var (
	secretARN  = regexp.MustCompile(`^arn:aws[\w-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:\S+$`)
	eventBus   = regexp.MustCompile(`^(arn:aws[\w-]*:events:[a-z0-9-]+:\d{12}:event-bus/)?[/.\-_A-Za-z0-9]+$`)
	endpointID = regexp.MustCompile(`^[A-Za-z0-9-]+\.[A-Za-z0-9-]+$`)
	namespace  = regexp.MustCompile(`^[0-9A-Za-z._\-/#:]+$`)
	printable  = regexp.MustCompile(`^[[:graph:]]([[:print:]]*[[:graph:]])?$`) // ASCII, no blanks around
)

func (r *reader) database() Database {
	d := Database{
		URL:            r.databaseURL(),
		SecretARN:      r.secretARN(),
		IAMAuth:        r.boolean("DATABASE_IAM_AUTH", false),
		ConnectTimeout: r.duration("DATABASE_CONNECT_TIMEOUT", 10*time.Second, 100*time.Millisecond, 5*time.Minute),
		Host:           r.optional("PGHOST"),
		Port:           r.optional("PGPORT"),
		Name:           r.optional("PGDATABASE"),
		User:           r.optional("PGUSER"),
		SSLMode:        r.sslMode(),
	}
	if d.IAMAuth && d.SecretARN != "" {
		r.report("DATABASE_SECRET_ARN", "contradicts DATABASE_IAM_AUTH=true: set one of them")
	}
	if d.URL == "" && d.SecretARN == "" && d.Host == "" && r.optional("PGSERVICE") == "" && r.sound("DATABASE_URL", "DATABASE_SECRET_ARN") {
		r.report("DATABASE_URL", "is not set: set it, or PGHOST, or DATABASE_SECRET_ARN")
	}
	return d
}

// databaseURL leaves the details to the driver.
func (r *reader) databaseURL() string {
	value := r.optional("DATABASE_URL")
	url := strings.HasPrefix(value, "postgres://") || strings.HasPrefix(value, "postgresql://")
	if value != "" && !url && (strings.Contains(value, "://") || !strings.Contains(value, "=")) {
		r.report("DATABASE_URL", "(not shown) is not what it has to be: expected postgres://... or keywords such as host=... dbname=...")
		return ""
	}
	return value
}

// secretARN does not show the value: it may be the password, put there by mistake.
func (r *reader) secretARN() string {
	value := r.optional("DATABASE_SECRET_ARN")
	if value != "" && !secretARN.MatchString(value) {
		r.report("DATABASE_SECRET_ARN", "(not shown) is no ARN of a secret: expected arn:aws:secretsmanager:<region>:<account>:secret:<name>")
		return ""
	}
	return value
}

// sslMode refuses the modes that fall back to plaintext silently.
func (r *reader) sslMode() string {
	if r.optional("PGSSLMODE") == "" {
		return ""
	}
	return r.oneOf("PGSSLMODE", "", "verify-full", "verify-ca", "require", "disable")
}

func (r *reader) outbox() Outbox {
	return Outbox{
		Table:            r.table(),
		Name:             r.text("OUTBOX_NAME", "outbox", "1 to 255 printable ASCII characters", matches(printable, 255)),
		MetricsNamespace: r.metricsNamespace(),
	}
}

func (r *reader) table() Table {
	value, ok := r.values["OUTBOX_TABLE"]
	if !ok {
		value = "public.outbox"
	}
	table, err := parseTable(value)
	if err != nil {
		r.reject("OUTBOX_TABLE", err.Error())
	}
	return table
}

func (r *reader) metricsNamespace() string {
	return r.text("METRICS_NAMESPACE", "OutboxRelay",
		"1 to 255 of letters, digits and ._-/#:, not beginning with AWS/", func(value string) bool {
			return matches(namespace, 255)(value) && !strings.HasPrefix(value, "AWS/")
		})
}

func (r *reader) eventBridge() EventBridge {
	return EventBridge{
		Bus:        r.eventBus(),
		Source:     r.eventSource(),
		Envelope:   r.oneOf("EVENT_ENVELOPE", "metadata", "metadata", "cloudevents", "raw"),
		BusCheck:   r.oneOf("EVENT_BUS_CHECK", "warn", "require", "warn", "off"),
		EndpointID: r.endpointID(),
		MaxEntries: r.integer("PUT_EVENTS_MAX_ENTRIES", 10, 1, 10),
		MaxBytes:   r.integer("PUT_EVENTS_MAX_BYTES", 1_000_000, 1024, 1<<20),
		Timeout: r.duration("PUT_EVENTS_TIMEOUT", 5*time.Second, time.Millisecond, 10*time.Second,
			"a batch has to be published within "+publishWindow.String()),
	}
}

func (r *reader) eventBus() string {
	return r.text("EVENT_BUS", "default", "the name or ARN of an event bus", IsEventBus)
}

// IsEventBus reports whether a text can be the name or ARN of an event bus.
func IsEventBus(text string) bool { return matches(eventBus, 1600)(text) }

func (r *reader) eventSource() string {
	return r.text("EVENT_SOURCE", "outbox", "1 to 256 printable ASCII characters, not beginning with aws., which is reserved",
		func(value string) bool {
			return matches(printable, 256)(value) && !strings.HasPrefix(value, "aws.")
		})
}

func (r *reader) endpointID() string {
	if r.optional("EVENT_ENDPOINT_ID") == "" {
		return ""
	}
	return r.text("EVENT_ENDPOINT_ID", "", "the id of a global endpoint, such as abcde.veo", matches(endpointID, 50))
}

// logLevel takes upper case too, as AWS writes levels.
func (r *reader) logLevel() slog.Level {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	value, ok := r.values["LOG_LEVEL"]
	if !ok {
		return slog.LevelInfo
	}
	level, ok := levels[strings.ToLower(value)]
	if !ok {
		r.reject("LOG_LEVEL", "one of debug, info, warn, error")
	}
	return level
}

func matches(pattern *regexp.Regexp, most int) func(string) bool {
	return func(value string) bool { return len(value) <= most && pattern.MatchString(value) }
}
