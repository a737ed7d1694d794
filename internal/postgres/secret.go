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
	// secretTimeout limits the call with its retries.
	secretTimeout = 10 * time.Second
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
	at   time.Time // when last was fetched
}

// read returns the login that was fetched last, unless it is too old or it is
// the one that was refused.
func (s *secret) read(ctx context.Context, now time.Time, refused *login) (*login, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && s.last != refused && now.Sub(s.at) < secretTTL {
		return s.last, nil
	}
	fetched, err := s.fetch(ctx)
	if err != nil {
		return nil, err
	}
	s.last, s.at = fetched, now
	return fetched, nil
}

func (s *secret) fetch(ctx context.Context) (*login, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, secretTimeout, fmt.Errorf("no answer within %s", secretTimeout))
	defer cancel()
	output, err := s.manager.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &s.arn})
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	if output.SecretString == nil {
		return nil, s.errorf("is binary: expected JSON text with username and password")
	}
	return s.parse(*output.SecretString)
}

// errorf names the secret. What it holds must not be among the arguments.
func (s *secret) errorf(format string, args ...any) error {
	return fmt.Errorf("secret %s "+format, append([]any{s.arn}, args...)...)
}

// explain says what an operator can do about a failed call.
func (s *secret) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return s.errorf("cannot be read from AWS Secrets Manager: %w (%w); check that the function's subnets have a route to it: "+
			"an interface endpoint for secretsmanager, or a NAT gateway", context.Cause(ctx), err)
	}
	advice := "check the network and the role's credentials"
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		advice = secretAdvice(api.ErrorCode())
	}
	return s.errorf("cannot be read from AWS Secrets Manager: %w; %s", err, advice)
}

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
	return "this may pass"
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
		f.problems = append(f.problems, "has a "+name+" that is no text")
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
		f.problems = append(f.problems, "has no username")
	}
	if l.password == "" {
		f.problems = append(f.problems, "has no password")
	}
}
