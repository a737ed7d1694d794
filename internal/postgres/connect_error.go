package postgres

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// connectError is a failed attempt to connect, on one line.
type connectError struct {
	text string
	err  error
}

func (e *connectError) Error() string { return e.text }

func (e *connectError) Unwrap() error { return e.err }

// explainConnect says where and as whom we tried to connect, and what an
// operator can do. It keeps the driver's error without the driver's
// configuration, in which the password is.
func explainConnect(config *pgx.ConnConfig, err error) error {
	if driver, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		err = driver.Unwrap()
	}
	text := fmt.Sprintf("connect to postgres at %s/%s as %s: %s", addresses(config), config.Database, config.User, err)
	if advice := connectAdvice(err); advice != "" {
		text += "; " + advice
	}
	return &connectError{strings.ReplaceAll(text, "\n", ", "), err}
}

func addresses(config *pgx.ConnConfig) string {
	list := []string{address(config.Host, config.Port)}
	for _, fallback := range config.Fallbacks {
		list = append(list, address(fallback.Host, fallback.Port))
	}
	return strings.Join(list, ",")
}

func address(host string, port uint16) string { return net.JoinHostPort(host, fmt.Sprint(port)) }

// loginRefused tells an authentication that failed. Proxies report it with
// 28000, as PostgreSQL does a missing entry of pg_hba.conf.
func loginRefused(err error) bool {
	state := sqlState(err)
	return state == "28P01" || state == "28000"
}

// mayBeRefused also takes what older poolers say: a violation of the protocol,
// whatever is wrong with a login.
func mayBeRefused(err error) bool { return loginRefused(err) || sqlState(err) == "08P01" }

func connectAdvice(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return loginAdvice(pg.Code)
	}
	switch {
	case is[*net.DNSError](err):
		return "check the host name, and that the function's VPC resolves it"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "check the port, and that the database runs"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was ended before the login: check that the database runs, and what is before it"
	case pgconn.Timeout(err), errors.Is(err, context.DeadlineExceeded):
		return "check that the database's security group lets the function's in at this port, " +
			"and that the function's subnets reach it; a paused database takes longer (DATABASE_CONNECT_TIMEOUT)"
	}
	return tlsAdvice(err)
}

func loginAdvice(code string) string {
	switch code {
	case "28P01":
		return "check user and password, in the secret if there is one"
	case "28000":
		return "check the user, and whether the server wants TLS of it (sslmode, pg_hba.conf)"
	case "3D000":
		return "check the database's name (PGDATABASE, DATABASE_URL or the secret's dbname)"
	case insufficientPrivilege:
		return "grant the user CONNECT on the database"
	case "53300":
		return "check max_connections, and who holds the connections"
	case "57P03":
		return "the server starts, stops or recovers: this passes"
	}
	return ""
}

func tlsAdvice(err error) string {
	switch {
	case is[x509.UnknownAuthorityError](err):
		return "set sslrootcert (PGSSLROOTCERT) to a file with the server's root certificate; " +
			"known are the roots of RDS, as far as this version has them, and the system's"
	case is[x509.HostnameError](err):
		return "connect by a name that is in the server's certificate"
	case is[x509.CertificateInvalidError](err):
		return "renew the server's certificate"
	// The driver has no type for it. Only this advice depends on the text.
	case strings.Contains(err.Error(), "server refused TLS connection"):
		return "turn on TLS on the server, or say sslmode=disable if the network is to be trusted with the password"
	}
	return ""
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
