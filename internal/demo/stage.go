package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/lambdatest"
	"outboxrelay/internal/postgrestest"
)

const (
	// ordersBus is the topic of some events; the others go to the default bus.
	ordersBus = "orders"
	// busLatency is what a PutEvents call takes in the same Region, roughly.
	busLatency = 10 * time.Millisecond
)

//go:embed sql/shop.sql
var shopSQL string

// stage is what the demo plays on.
type stage struct {
	server    *postgrestest.Server
	database  *postgrestest.Database
	owner     postgrestest.Login            // of the database
	logins    map[string]postgrestest.Login // by role, without its prefix outbox_
	bus       *eventbridgetest.Server
	functions map[string]*lambdatest.Function // by name
}

// setStage starts everything. What was started before an error is stopped.
func setStage(ctx context.Context, say say) (_ *stage, err error) {
	s := &stage{logins: map[string]postgrestest.Login{}, functions: map[string]*lambdatest.Function{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	say("starting PostgreSQL, building the functions and the Lambda emulator (minutes, the first time)")
	var group errgroup.Group
	group.Go(func() error { return s.startDatabase(ctx) })
	group.Go(func() error { return buildFunctions(ctx) })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	//nolint:contextcheck // it lives until close, as no call does
	s.bus, err = eventbridgetest.Start(eventbridgetest.WithBuses(ordersBus), eventbridgetest.WithLatency(busLatency))
	if err != nil {
		return nil, fmt.Errorf("start the EventBridge stand-in: %w", err)
	}
	made, err := s.migrate(ctx)
	if err != nil {
		return nil, err
	}
	say("PostgreSQL %s runs; migrate has made the tables of version %d in %d steps", s.server.Version(), made.To, len(made.Applied))
	if err := s.openShop(ctx); err != nil {
		return nil, err
	}
	if err := s.openFunctions(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *stage) startDatabase(ctx context.Context) (err error) {
	if s.server, err = postgrestest.Start(ctx, postgrestest.Options{}); err != nil {
		return err
	}
	if s.database, err = s.server.CreateDatabase(ctx, ""); err != nil {
		return err
	}
	s.owner, err = s.database.AddOwner(ctx)
	return err
}

// migrate runs the function migrate as the database's owner.
func (s *stage) migrate(ctx context.Context) (migrated, error) {
	function, err := s.openFunction(ctx, "migrate", s.owner.URL)
	if err != nil {
		return migrated{}, err
	}
	defer function.Close()
	return migrate(ctx, function.Invoke)
}

// openShop adds the producers' login and gives it the application's own table.
func (s *stage) openShop(ctx context.Context) (err error) {
	s.logins["writer"], err = s.database.AddLogin(ctx, "outbox_writer")
	if err != nil {
		return err
	}
	return openShop(ctx, s.database, s.logins["writer"])
}

func openShop(ctx context.Context, database *postgrestest.Database, producers postgrestest.Login) error {
	owner := pgx.Identifier{producers.Name}.Sanitize()
	if err := execute(ctx, database.URL(), "CREATE SCHEMA shop AUTHORIZATION "+owner); err != nil {
		return fmt.Errorf("create the shop: %w", err)
	}
	if err := execute(ctx, producers.URL, shopSQL); err != nil {
		return fmt.Errorf("create the shop's table: %w", err)
	}
	return nil
}

// openFunctions opens those that go on until close, each with a login that has
// its role and nothing more.
func (s *stage) openFunctions(ctx context.Context) (err error) {
	for _, name := range []string{"relay", "cleanup", "lag", "admin"} {
		if s.logins[name], err = s.database.AddLogin(ctx, "outbox_"+name); err != nil {
			return err
		}
		function, err := s.openFunction(ctx, name, s.logins[name].URL)
		if err != nil {
			return err
		}
		s.functions[name] = function
	}
	return nil
}

func execute(ctx context.Context, url, sql string) error {
	_, err := affect(ctx, url, sql)
	return err
}

// affect returns how many rows a statement changed.
func affect(ctx context.Context, url, sql string) (rows int64, err error) {
	err = inSession(ctx, url, func(ctx context.Context, conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, sql)
		rows = tag.RowsAffected()
		return err
	})
	return rows, err
}

// missing says what the go command may lack, if it failed.
func missing(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w: install Go (https://go.dev/dl) and put its directory bin on PATH", err)
	default:
		return fmt.Errorf("%w\n(the first time the go command fetches modules, which needs the network)", err)
	}
}

// close stops everything, in the order in which nobody misses anything.
func (s *stage) close() error {
	for _, function := range s.functions {
		function.Close()
	}
	if s.bus != nil {
		s.bus.Close()
	}
	if s.server == nil {
		return nil
	}
	return s.server.Stop()
}
