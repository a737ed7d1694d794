package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go"
)

// SecretsManager is what we need of AWS Secrets Manager: its SDK client. It is
// expected to retry what can be retried, such as throttling.
type SecretsManager interface {
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)
}

const (
	// secretTTL is how long a login is used before the secret is read again.
	// A rotation in between is noticed by the refused login.
	secretTTL = 5 * time.Minute
	// secretPause is how long a login that is older is used before the next
	// attempt, where Secrets Manager could not be reached.
	secretPause = 30 * time.Second
	// secretTimeout limits the call with its retries.
	secretTimeout = 10 * time.Second
	// spareTimeout limits a call that there is something to go on without.
	spareTimeout = 3 * time.Second
)

// The versions of a secret that is being rotated: the one in force, and the one
// that the database may have got already.
const (
	currentStage = "AWSCURRENT"
	pendingStage = "AWSPENDING"
)

// login is what a secret holds. Host, port and database may be missing.
type login struct {
	user, password, host, database string
	port                           uint16 // 0: missing
}

// secret is read when a connection needs it, never at start-up: what fails
// there costs the sandbox instead of one run. It is safe for concurrent use.
type secret struct {
	arn     string
	manager SecretsManager

	mu   sync.Mutex // also held while the secret is fetched, so that this happens once
	last *login
	at   time.Time     // when last was fetched, or failed to be
	life time.Duration // how long last is used after that
}

// read returns the login that was fetched last, unless it is too old or it is
// the one that was refused. One that is too old is used on while Secrets Manager
// cannot be reached: it is likely to be good, and what is wrong with it the
// database will say. A definite answer, such as a permission that was taken
// away, is an error at once, as it is in a new sandbox.
func (s *secret) read(ctx context.Context, now time.Time, refused *login) (*login, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	usable := s.last != nil && s.last != refused
	if usable && s.young(now) {
		return s.last, nil
	}
	limit := secretTimeout
	if usable {
		limit = spareTimeout
	}
	fetched, err := s.fetch(ctx, currentStage, limit)
	if err == nil {
		s.set(fetched, now, secretTTL)
		return fetched, nil
	}
	if usable && is[*outageError](err) && ctx.Err() == nil {
		s.set(s.last, now, secretPause)
		return s.last, nil
	}
	return nil, err
}

// young tells whether the last login needs no other yet. A clock that was set
// back says nothing about its age.
func (s *secret) young(now time.Time) bool {
	age := now.Sub(s.at)
	return age >= 0 && age < s.life
}

// set takes the wall clock's time alone: the monotonic clock may stand still while
// a sandbox is frozen.
func (s *secret) set(l *login, now time.Time, life time.Duration) {
	s.last, s.at, s.life = l, now.Round(0), life
}

// pending returns the login of a rotation that is under way, or an error.
func (s *secret) pending(ctx context.Context) (*login, error) {
	return s.fetch(ctx, pendingStage, spareTimeout)
}

// keep makes a login that was accepted the last one.
func (s *secret) keep(l *login, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(l, now, secretTTL)
}

func (s *secret) fetch(ctx context.Context, stage string, limit time.Duration) (*login, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	input := &secretsmanager.GetSecretValueInput{SecretId: &s.arn, VersionStage: &stage}
	output, err := s.manager.GetSecretValue(ctx, input, retryAlways)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	if output.SecretString == nil {
		return nil, s.errorf("is binary: expected JSON text with username and password")
	}
	return s.parse(*output.SecretString)
}

// retryAlways does without the client's budget for retries. Calls are few, and one
// that a long outage has used up would leave the next run worse off than a new
// sandbox.
func retryAlways(options *secretsmanager.Options) {
	attempts := options.Retryer.MaxAttempts()
	options.Retryer = retry.NewStandard(func(standard *retry.StandardOptions) {
		standard.MaxAttempts = attempts
		standard.RateLimiter = ratelimit.None
	})
}

// outageError is that Secrets Manager gave no answer about the secret. It passes.
type outageError struct{ error }

func (e *outageError) Unwrap() error { return e.error }

// errorf names the secret. What it holds must not be among the arguments.
func (s *secret) errorf(format string, args ...any) error {
	return fmt.Errorf("secret %s "+format, append([]any{s.arn}, args...)...)
}

// explain says what an operator can do about a failed call.
func (s *secret) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return &outageError{s.errorf("cannot be read from AWS Secrets Manager: %w (%w); check that the function's subnets have a route to it: "+
			"an interface endpoint for secretsmanager, or a NAT gateway", context.Cause(ctx), err)}
	}
	api, answered := errors.AsType[smithy.APIError](err)
	if !answered {
		return &outageError{s.errorf("cannot be read from AWS Secrets Manager: %w; check the network and the role's credentials", err)}
	}
	if advice := secretAdvice(api.ErrorCode()); advice != "" {
		return s.errorf("cannot be read from AWS Secrets Manager: %w; %s", err, advice)
	}
	return &outageError{s.errorf("cannot be read from AWS Secrets Manager: %w; this may pass", err)}
}

// secretAdvice is for answers that are about the secret; empty: it is none.
func secretAdvice(code string) string {
	switch code {
	case "AccessDeniedException":
		return "grant the function's role secretsmanager:GetSecretValue on it, and kms:Decrypt on its key if that is not AWS's own"
	case "DecryptionFailure":
		return "grant the function's role kms:Decrypt on its key, and check that the key is enabled"
	case "ResourceNotFoundException":
		return "check the ARN (DATABASE_SECRET_ARN), its region, and that the secret has a value"
	case "InvalidRequestException":
		return "check that it is not marked for deletion"
	}
	return ""
}

// parse takes the shapes that RDS, CDK and people give a secret.
func (s *secret) parse(text string) (*login, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return nil, s.errorf("is no JSON object: expected one with username and password") // the cause may quote it
	}
	f := secretFields{fields: fields}
	l := &login{
		user:     f.text("username"),
		password: f.text("password"),
		host:     f.text("host"),
		database: f.text("dbname"),
		port:     f.port("port"),
	}
	if l.database == "" {
		l.database = f.text("database")
	}
	f.check(*l)
	if len(f.problems) > 0 {
		return nil, s.errorf("%s", strings.Join(f.problems, ", "))
	}
	return l, nil
}

// secretFields reads members of a secret and collects what is wrong with them,
// without their values.
type secretFields struct {
	fields   map[string]json.RawMessage
	problems []string
}

func (f *secretFields) text(name string) string {
	var value *string
	if raw, ok := f.fields[name]; ok && json.Unmarshal(raw, &value) != nil {
		f.problems = append(f.problems, "has no text as "+name)
	}
	if value == nil {
		return ""
	}
	return *value
}

// port takes a number or its text: both are in use.
func (f *secretFields) port(name string) uint16 {
	text := strings.Trim(string(f.fields[name]), `"`)
	if text == "" || text == "null" {
		return 0
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		f.problems = append(f.problems, "has a port that is no number from 1 to 65535")
	}
	return uint16(port)
}

func (f *secretFields) check(l login) {
	if engine := f.text("engine"); engine != "" && !slices.Contains([]string{"postgres", "postgresql", "aurora-postgresql"}, engine) {
		f.problems = append(f.problems, "has an engine other than postgres")
	}
	if l.user == "" {
		f.problems = append(f.problems, "has no username"+f.misnamed("user", "Username", "USERNAME", "login"))
	}
	if l.password == "" {
		f.problems = append(f.problems, "has no password"+f.misnamed("pass", "Password", "PASSWORD", "pwd"))
	}
	// These are shown in errors: what is not theirs, as a URL with a password, must not be there.
	if strings.Contains(l.host, "@") {
		f.problems = append(f.problems, "has a host with other things in it: expected its name alone, or its address")
	}
	if strings.Contains(l.database, "://") {
		f.problems = append(f.problems, "has a URL as dbname: expected the database's name alone")
	}
	for name, value := range map[string]string{"username": l.user, "host": l.host, "dbname": l.database} {
		if len(value) > shownMax {
			f.problems = append(f.problems, fmt.Sprintf("has a %s of %d bytes: expected at most %d", name, len(value), shownMax))
		}
	}
}

// shownMax is as much as an error shows of a name, in bytes; a host has 253 at the most.
const shownMax = 255

// misnamed tells a member that may be meant. Only these names are shown: any other
// may be a value that got there by mistake.
func (f *secretFields) misnamed(names ...string) string {
	for _, name := range names {
		if _, ok := f.fields[name]; ok {
			return ", which " + name + " would have to be called"
		}
	}
	return ""
}
