package postgrestest

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Database is a database on a server, for one test or one run of the demo.
type Database struct {
	// Server is the server it is on.
	Server *Server
	// Name is made up and needs no quotes in SQL.
	Name string
}

// Option changes what New makes.
type Option func(*request)

type request struct {
	server *Server
	schema string
}

// Schema is a script to run in the database first, of any number of statements. It runs once a process, in a template that each database
// is copied from, so a large one costs nothing. It may create roles, which all databases share, so it has to cope with roles that exist.
// A copy lacks what belongs to the database as a whole: GRANT ... ON DATABASE and ALTER DATABASE ... SET. In schema public only its owner
// may create tables, also before PostgreSQL 15.
func Schema(script string) Option { return func(r *request) { r.schema = script } }

// On chooses the server; without it, it is the shared one.
func On(server *Server) Option { return func(r *request) { r.server = server } }

// New gives a test a database of its own. It is dropped when the test ends, whoever is still connected.
func New(tb testing.TB, options ...Option) *Database {
	tb.Helper()
	var wanted request
	for _, option := range options {
		option(&wanted)
	}
	database, err := wanted.create(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := database.Drop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return database
}

func (r request) create(ctx context.Context) (*Database, error) {
	if r.server == nil {
		shared, err := Shared()
		if err != nil {
			return nil, err
		}
		r.server = shared
	}
	return r.server.CreateDatabase(ctx, r.schema)
}

// CreateDatabase makes a database in which a script has run (see [Schema]; empty: none). Drop removes it, or the end of the server.
func (s *Server) CreateDatabase(ctx context.Context, schema string) (*Database, error) {
	template, err := s.template(ctx, schema)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("db_%d", s.names.Add(1))
	if err := s.createDatabase(ctx, name, template); err != nil {
		return nil, err
	}
	return &Database{Server: s, Name: name}, nil
}

// Drop removes the database and ends its sessions. A halted server it leaves as it is.
func (d *Database) Drop(ctx context.Context) error {
	if d.Server.halted() {
		return nil
	}
	return d.Server.dropDatabase(ctx, d.Name)
}

// On is the same database on another server, such as a standby.
func (d *Database) On(server *Server) *Database { return &Database{Server: server, Name: d.Name} }

// URL connects as the superuser, over TCP.
func (d *Database) URL() string { return d.URLAs(superuser) }

// URLAs connects as a role that needs no password: any that was not made by CreateLogin, provided it may log in.
func (d *Database) URLAs(role string) string { return d.Server.URL(d.Name, role, "") }

// Connect opens a superuser's session.
func (d *Database) Connect(ctx context.Context) (*pgx.Conn, error) {
	return d.Server.connect(ctx, d.Name)
}
