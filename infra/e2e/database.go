package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"outboxrelay/internal/postgrestest"
)

// functionNames are those that log in to the database.
var functionNames = []string{"relay", "cleanup", "lag", "migrate", "admin"}

// database is an application's, with a login for each function and one for the
// application that writes events.
type database struct {
	server *postgrestest.Server
	*postgrestest.Database

	logins map[string]postgrestest.Login // by function, and writer
}

// startDatabase starts PostgreSQL with a database that is empty.
func startDatabase(ctx context.Context) (*database, error) {
	server, err := postgrestest.Start(ctx, postgrestest.Options{})
	if err != nil {
		return nil, err
	}
	d := &database{server: server, logins: map[string]postgrestest.Login{}}
	if err := d.fill(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// fill makes the logins. But for the owner's they may do nothing yet: the roles
// that they are to have are made by migrate.
func (d *database) fill(ctx context.Context) (err error) {
	if d.Database, err = d.server.CreateDatabase(ctx, ""); err != nil {
		return err
	}
	if d.logins["migrate"], err = d.AddOwner(ctx); err != nil {
		return err
	}
	for _, name := range []string{"writer", "relay", "cleanup", "lag", "admin"} {
		if d.logins[name], err = d.AddLogin(ctx); err != nil {
			return err
		}
	}
	return nil
}

// grantRoles does what an administrator does once the tables are there.
func (d *database) grantRoles(ctx context.Context) error {
	for name, login := range d.logins {
		if name == "migrate" {
			continue
		}
		if err := d.execute(ctx, "postgres", "GRANT outbox_"+name+" TO "+login.Name); err != nil {
			return fmt.Errorf("grant a login its role: %w", err)
		}
	}
	return nil
}

func (d *database) close() error { return d.server.Stop() }

// url is that of a login, or of the superuser postgres.
func (d *database) url(login string) string {
	if known, ok := d.logins[login]; ok {
		return known.URL
	}
	return d.URLAs(login)
}

// execute runs one statement.
func (d *database) execute(ctx context.Context, login, statement string) error {
	return d.inSession(ctx, login, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

// count is the number that a query answers to the superuser.
func (d *database) count(ctx context.Context, query string) (count int, err error) {
	err = d.inSession(ctx, "postgres", func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, query).Scan(&count)
	})
	return count, err
}

func (d *database) inSession(ctx context.Context, login string, work func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, d.url(login))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return work(conn)
}
