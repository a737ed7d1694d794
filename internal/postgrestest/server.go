package postgrestest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"outboxrelay/internal/daemontest"
)

const (
	superuser = "postgres"
	// adminTimeout limits one statement of the package's own, such as CREATE DATABASE: seconds on a busy machine.
	adminTimeout = time.Minute
	// startTimeout limits the time from starting the server until it accepts connections.
	startTimeout = time.Minute
)

// Server is a running PostgreSQL. Its methods may be called by several goroutines, except Stop, Halt, Resume and Restart,
// of which one may run at a time.
type Server struct {
	cluster cluster
	process *daemontest.Process
	port    int
	tls     bool

	// catalogue serialises what touches the tables that all databases share (roles, templates): concurrent
	// changes of one row fail there with "tuple concurrently updated" instead of waiting.
	catalogue sync.Mutex
	templates map[string]string
	names     atomic.Int64
}

// Start makes and starts a server. The context limits the start only. Whoever calls it ought to call Stop, but the server
// ends with the process at the latest.
func Start(ctx context.Context, options Options) (*Server, error) {
	made, err := newCluster(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	server := &Server{cluster: made, tls: options.tls(), templates: map[string]string{}}
	if err := server.begin(ctx); err != nil {
		_ = os.RemoveAll(made.directory)
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	return server, nil
}

func (s *Server) begin(ctx context.Context) error {
	if err := s.findPort(ctx); err != nil {
		return err
	}
	if err := s.execute(ctx, superuser, "create role "+passwordGroup+" nologin"); err != nil {
		s.process.End()
		return err
	}
	return nil
}

// Stop ends the server at once and removes its data. It may be called again.
func (s *Server) Stop() error {
	s.process.End()
	if err := os.RemoveAll(s.cluster.directory); err != nil {
		return fmt.Errorf("stop postgres: %w", err)
	}
	return nil
}

// Shutdown is how a server is stopped, by PostgreSQL's names.
type Shutdown string

const (
	// Smart waits for all sessions to end, and refuses others with SQLSTATE 57P03.
	Smart Shutdown = "TERM"
	// Fast ends sessions with SQLSTATE 57P01.
	Fast Shutdown = "INT"
	// Immediate ends them as a crash does, with 57P02 or nothing, and the next start recovers from the log.
	Immediate Shutdown = "QUIT"
)

// Restart stops the server as Halt does and starts it again on the same port and data. The context limits the start.
func (s *Server) Restart(ctx context.Context, how Shutdown) error {
	if err := s.Halt(how); err != nil {
		return err
	}
	return s.Resume(ctx)
}

// Halt stops the server, waits until it is gone, and keeps its data for Resume.
func (s *Server) Halt(how Shutdown) error {
	if err := s.process.Stop(string(how)); err != nil {
		return fmt.Errorf("halt postgres: %w", err)
	}
	return nil
}

// halted reports that the server does not run.
func (s *Server) halted() bool {
	select {
	case <-s.process.Gone():
		return true
	default:
		return false
	}
}

// Resume starts a halted server again, on the same port and data.
func (s *Server) Resume(ctx context.Context) error {
	halted := s.process
	if err := s.launchAgain(ctx); err != nil {
		return fmt.Errorf("resume postgres: %w", err)
	}
	// Only now, so that there is always a watchdog that would remove the directory.
	if err := halted.Release(); err != nil {
		return fmt.Errorf("resume postgres: %w", err)
	}
	return nil
}

// Port is the TCP port on 127.0.0.1. It stays the same over a restart.
func (s *Server) Port() int { return s.port }

// Version is the server's version, for example "15.19".
func (s *Server) Version() string { return s.cluster.installation.Version }

// Major is the version before the dot, for example 15.
func (s *Server) Major() int { return s.cluster.installation.Major }

// SocketDirectory holds the server's Unix socket, which trusts everybody: psql -h <directory> -p <port> -U postgres.
func (s *Server) SocketDirectory() string { return s.cluster.directory }

// URL returns a connection URL over TCP. An empty user is the superuser; an empty password is left out. Without TLS on the server it says
// sslmode=disable; with TLS it says nothing on that, since what to check is the caller's to say.
func (s *Server) URL(database, user, password string) string {
	if user == "" {
		user = superuser
	}
	built := url.URL{Scheme: "postgres", User: url.User(user), Host: "127.0.0.1:" + strconv.Itoa(s.port), Path: "/" + database}
	if password != "" {
		built.User = url.UserPassword(user, password)
	}
	if !s.tls {
		built.RawQuery = "sslmode=disable"
	}
	return built.String()
}

// connect opens the superuser's session through the socket in the server's own directory, where no other server can answer.
func (s *Server) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig("sslmode=disable")
	if err != nil {
		return nil, err
	}
	config.Host, config.Port = s.cluster.directory, uint16(s.port) //nolint:gosec // a port fits
	config.Database, config.User, config.Password = database, superuser, ""
	// Whatever PG* variables have put there.
	config.Fallbacks, config.ValidateConnect, config.RuntimeParams = nil, nil, map[string]string{}
	return pgx.ConnectConfig(ctx, config)
}

// execute runs a script in a session of its own.
func (s *Server) execute(ctx context.Context, database, script string) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	conn, err := s.connect(ctx, database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, script)
	return err
}

func (s *Server) program() string { return filepath.Join(s.cluster.installation.Bin, "postgres") }
