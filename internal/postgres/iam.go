package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/rds/auth"
	"github.com/jackc/pgx/v5"
)

// Signer makes the token that is the password of one login: as this user, at this
// endpoint, which is host:port.
type Signer func(ctx context.Context, endpoint, user string) (string, error)

// RDSSigner signs as RDS IAM wants it, with the credentials and for the Region of
// the SDK's settings. Nothing is sent for it, but for what the credentials take.
func RDSSigner(sdk aws.Config) (Signer, error) {
	if sdk.Region == "" {
		return nil, errors.New("DATABASE_IAM_AUTH is true, but no Region is set: set AWS_REGION to the database's")
	}
	return func(ctx context.Context, endpoint, user string) (string, error) {
		return auth.BuildAuthToken(ctx, endpoint, sdk.Region, user, unexpired{sdk.Credentials})
	}, nil
}

// unexpired refuses credentials that have expired: a token that they sign is
// refused without saying why.
type unexpired struct{ aws.CredentialsProvider }

// Retrieve returns credentials that are good, or an error.
func (u unexpired) Retrieve(ctx context.Context) (aws.Credentials, error) {
	if u.CredentialsProvider == nil {
		return aws.Credentials{}, errors.New("there are none")
	}
	found, err := u.CredentialsProvider.Retrieve(ctx)
	if err == nil && found.Expired() {
		err = fmt.Errorf("they expired at %s", found.Expires.UTC().Format(time.RFC3339))
	}
	return found, err
}

// iamAdvice is for a login that was refused twice.
const iamAdvice = "with DATABASE_IAM_AUTH the password is a token: GRANT rds_iam to the user, grant the function's role rds-db:connect " +
	"for it, turn IAM authentication on at the database, and name its own endpoint, no alias of it"

// checkIAM says everything that keeps tokens from being used. A user or a host
// that only the driver has chosen is none.
func (c *Connector) checkIAM(mode string) error {
	var problems []string
	if !c.given.user {
		problems = append(problems, "there is no user: set PGUSER, or name one in DATABASE_URL")
	}
	if c.config.Password != "" {
		problems = append(problems, "there is a password: take it out of DATABASE_URL, or unset PGPASSWORD")
	}
	switch {
	case !c.given.host:
		problems = append(problems, "there is no host: set PGHOST, or name one in DATABASE_URL")
	case len(c.config.Fallbacks) > 0:
		problems = append(problems, "there are several hosts: name one, which the token is for")
	}
	if mode == "disable" || c.given.host && strings.HasPrefix(c.config.Host, "/") {
		problems = append(problems, "the connection has no TLS: connect by TCP, with sslmode (PGSSLMODE) verify-full")
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New("DATABASE_IAM_AUTH is true, but " + strings.Join(problems, ", and "))
}

// openSigned tries once more with another token where the login is refused: RDS
// is reported to do that to a token that is good.
func (c *Connector) openSigned(ctx context.Context) (*pgx.Conn, error) {
	conn, err := c.openByToken(ctx)
	if !loginRefused(err) {
		return conn, err
	}
	if conn, err = c.openByToken(ctx); loginRefused(err) {
		return nil, fmt.Errorf("%w; %s", err, iamAdvice)
	}
	return conn, err
}

// openByToken makes a token for each connection: they expire within 15 minutes.
func (c *Connector) openByToken(ctx context.Context) (*pgx.Conn, error) {
	config := c.config.Copy()
	endpoint := address(config.Host, config.Port)
	signCtx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no credentials within %s", c.timeout))
	defer cancel()
	token, err := c.sign(signCtx, endpoint, config.User)
	if err != nil {
		return nil, fmt.Errorf("sign a token for %s at %s: %w; check the credentials of the function's role", config.User, endpoint, err)
	}
	config.Password = token
	return c.open(ctx, config)
}
