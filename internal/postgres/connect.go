package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
)

// Settings say how to reach the database.
//
// The driver reads the libpq variables (PGHOST, PGUSER, PGSSLROOTCERT and so
// on) from the process environment itself. Host, Port, Database, User and SSLMode
// repeat five of them, because where they are not set something else takes their
// place, the secret and verify-full, or a default of the driver that will not do.
type Settings struct {
	// URL is a URL or keyword string; empty: the libpq variables alone.
	URL string
	// SecretARN is a secret in Secrets Manager. Its user name and password
	// are used always, its host, port and database where nothing else
	// sets them. Empty: none.
	SecretARN string
	// Sign makes the password of each connection, in place of a secret's or of one
	// that is set. It takes TLS, and a host and a user that are set. Nil: none.
	Sign Signer
	// ConnectTimeout limits the attempt at each of the hosts; 0: 10 seconds.
	ConnectTimeout time.Duration

	Host     string // PGHOST; empty: not set
	Port     string // PGPORT; empty: not set
	Database string // PGDATABASE; empty: not set
	User     string // PGUSER; empty: not set
	SSLMode  string // PGSSLMODE; empty: verify-full
}

// applicationName is what pg_stat_activity shows. Poolers and proxies take it
// as a start-up parameter, since psql sends it too; they refuse most others.
const applicationName = "outbox-relay"

// Connector opens connections. It is safe for concurrent use.
type Connector struct {
	config  *pgx.ConnConfig // complete, but for what the secret or the token adds
	given   given
	secret  *secret // nil: none
	sign    Signer  // nil: none
	timeout time.Duration
}

// given tells what is set, and is not the driver's own choice: what the secret's
// values would have to give way to, and what a token is made for.
type given struct{ host, port, database, user bool }

// NewConnector checks the settings; it does not connect, nor fetch the secret.
// Without a SecretARN, secrets may be nil.
func NewConnector(settings Settings, secrets SecretsManager) (*Connector, error) {
	keys := connectKeys(settings.URL)
	mode, err := sslMode(keys, settings.SSLMode)
	if err != nil {
		return nil, fmt.Errorf("connect to postgres: %w", err)
	}
	c := &Connector{timeout: cmp.Or(settings.ConnectTimeout, 10*time.Second), sign: settings.Sign, given: given{
		host:     keys["host"] != "" || settings.Host != "",
		port:     keys["port"] != "" || settings.Port != "",
		database: keys["database"] != "" || settings.Database != "",
		user:     keys["user"] != "" || settings.User != "",
	}}
	if settings.SecretARN != "" {
		c.secret = &secret{arn: settings.SecretARN, manager: secrets}
	}
	if err := c.prepare(settings.URL, mode); err != nil {
		return nil, fmt.Errorf("connect to postgres: %w", err)
	}
	return c, nil
}

// prepare makes the driver's configuration, but for what the secret adds.
func (c *Connector) prepare(url, mode string) (err error) {
	extra := []string{"sslmode=" + mode}
	hostComes := c.secret != nil && !c.given.host
	if hostComes {
		extra = append(extra, "host="+hostToCome)
	}
	if c.config, err = parseConnect(url, extra); err != nil {
		return err
	}
	// Otherwise the driver took a Unix socket, without TLS, for the secret's host.
	if hostComes && c.config.Host != hostToCome {
		return errors.New("DATABASE_URL has an empty host: leave it out, so that the secret's is used")
	}
	c.adjust()
	if c.sign != nil {
		if err := c.checkIAM(mode); err != nil {
			return err
		}
	}
	return secureTLS(c.config, mode)
}

// parseConnect keeps the driver's words out of the error: they may quote a
// password.
func parseConnect(url string, extra []string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(addKeys(url, extra...))
	if err == nil {
		return config, nil
	}
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("a file that DATABASE_URL or a PG* variable names cannot be read: %w", file)
	}
	return nil, errors.New("DATABASE_URL or a PG* variable is wrong (not shown, it may hold a password): " +
		"in a URL, percent-encode special characters of user and password; in keyword form, put values in single quotes; " +
		"ports are numbers from 1 to 65535; the files it names are in PEM format")
}

// adjust sets what does not depend on where the database is.
func (c *Connector) adjust() {
	// Statements without names: poolers that change the server connection
	// between transactions do not know them.
	c.config.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.config.StatementCacheCapacity = 0
	c.config.DescriptionCacheCapacity = 0
	c.config.ConnectTimeout = c.timeout
	// Whatever the role or the database has: text is UTF-8 to us. Poolers and
	// proxies take this parameter too, since libpq sends it.
	c.config.RuntimeParams["client_encoding"] = "UTF8"
	if c.config.RuntimeParams["application_name"] == "" {
		c.config.RuntimeParams["application_name"] = applicationName
	}
	// A peer that vanished is noticed after 30 seconds.
	dialer := &net.Dialer{
		Timeout:         c.timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	c.config.DialFunc = dialer.DialContext
}

// Connect opens a connection, within the time limit. An error says what is
// wrong and what to do, and never shows a password.
func (c *Connector) Connect(ctx context.Context) (*pgx.Conn, error) {
	return c.connect(ctx, time.Now())
}

func (c *Connector) connect(ctx context.Context, now time.Time) (*pgx.Conn, error) {
	switch {
	case c.sign != nil:
		return c.openSigned(ctx)
	case c.secret == nil:
		return c.open(ctx, c.config)
	}
	login, err := c.secret.read(ctx, now, nil)
	if err != nil {
		return nil, err
	}
	conn, err := c.openAs(ctx, login)
	if !mayBeRefused(err) {
		return conn, err
	}
	return c.openAgain(ctx, now, login, err)
}

// openAgain follows a refused login with what the secret holds by now: it may
// have been rotated since it was read.
func (c *Connector) openAgain(ctx context.Context, now time.Time, refused *login, cause error) (*pgx.Conn, error) {
	fresh, err := c.secret.read(ctx, now, refused)
	if err != nil {
		return nil, fmt.Errorf("%w; then %w", cause, err)
	}
	if *fresh != *refused {
		conn, err := c.openAs(ctx, fresh)
		if !mayBeRefused(err) {
			return conn, err
		}
		cause = err
	}
	if !loginRefused(cause) {
		return nil, cause
	}
	return c.openPending(ctx, now, fresh, cause)
}

// openPending tries the login of a rotation that is under way. The database has
// it before it is the secret's own. One that a rotation has left behind is refused.
func (c *Connector) openPending(ctx context.Context, now time.Time, refused *login, cause error) (*pgx.Conn, error) {
	if pending, err := c.secret.pending(ctx); err == nil && *pending != *refused {
		if conn, err := c.openAs(ctx, pending); err == nil {
			c.secret.keep(pending, now)
			return conn, nil
		}
	}
	return nil, fmt.Errorf("%w; the secret, read again, still holds this login: if it is being rotated, this passes", cause)
}

func (c *Connector) openAs(ctx context.Context, login *login) (*pgx.Conn, error) {
	config, err := c.configFor(login)
	if err != nil {
		return nil, err
	}
	return c.open(ctx, config)
}

// configFor fills in fields: a connection string made of parts would go wrong
// with the first password that has a special character.
func (c *Connector) configFor(login *login) (*pgx.ConnConfig, error) {
	config := c.config.Copy()
	config.User, config.Password = login.user, login.password
	if !c.given.host {
		if login.host == "" {
			return nil, c.secret.errorf("has no host: set PGHOST, or add host to it")
		}
		setHost(config, login.host)
	}
	if !c.given.database {
		if login.database == "" {
			return nil, c.secret.errorf("has no dbname: set PGDATABASE, or add dbname to it")
		}
		config.Database = login.database
	}
	if !c.given.port && login.port != 0 {
		setPort(config, login.port)
	}
	return config, nil
}

// setHost replaces the only host; its certificate has to bear the name.
func setHost(config *pgx.ConnConfig, host string) {
	config.Host = host
	if config.TLSConfig != nil && config.TLSConfig.ServerName != "" {
		config.TLSConfig.ServerName = host
	}
}

func setPort(config *pgx.ConnConfig, port uint16) {
	config.Port = port
	for _, fallback := range config.Fallbacks {
		fallback.Port = port
	}
}

// open limits the attempt as a whole too: the driver's own limit leaves out
// the resolving of names.
func (c *Connector) open(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	hosts := 1 + len(config.Fallbacks)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(hosts)*c.timeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, explainConnect(config, err)
	}
	return conn, nil
}
