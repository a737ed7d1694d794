package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/jackc/pgx/v5"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/lambdatest"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

const (
	// ordersBus is the topic of some events; the others go to the default bus.
	ordersBus = "orders"
	// busLatency is what a PutEvents call takes in the same Region, roughly.
	busLatency = 10 * time.Millisecond
	// setupLimit is for one statement of the setting up.
	setupLimit = 30 * time.Second
)

//go:embed sql/shop.sql
var shopSQL string

// stage is what the demo plays on.
type stage struct {
	server    *postgrestest.Server
	database  *postgrestest.Database
	producers postgrestest.Login
	relay     postgrestest.Login
	lag       postgrestest.Login
	bus       *eventbridgetest.Server
	function  *lambdatest.Function
}

// setStage starts everything. What was started before an error is stopped.
func setStage(ctx context.Context, say say) (_ *stage, err error) {
	s := &stage{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	say("starting PostgreSQL (fetched once, if this machine has none)")
	if err := s.startDatabase(ctx); err != nil {
		return nil, err
	}
	//nolint:contextcheck // it lives until close, as no call does
	s.bus, err = eventbridgetest.Start(eventbridgetest.WithBuses(ordersBus), eventbridgetest.WithLatency(busLatency))
	if err != nil {
		return nil, fmt.Errorf("start the EventBridge stand-in: %w", err)
	}
	say("PostgreSQL %s runs; building the relay and the Lambda emulator (minutes, the first time)", s.server.Version())
	if err := s.startRelay(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *stage) startDatabase(ctx context.Context) (err error) {
	if s.server, err = postgrestest.Start(ctx, postgrestest.Options{}); err != nil {
		return err
	}
	schema := postgres.Schema(postgres.Table{Schema: "public", Name: "outbox"})
	if s.database, err = s.server.CreateDatabase(ctx, schema); err != nil {
		return fmt.Errorf("create the outbox: %w", err)
	}
	if s.producers, err = s.database.AddLogin(ctx, "outbox_writer"); err != nil {
		return err
	}
	if s.relay, err = s.database.AddLogin(ctx, "outbox_relay"); err != nil {
		return err
	}
	if s.lag, err = s.database.AddLogin(ctx, "outbox_lag"); err != nil {
		return err
	}
	return s.openShop(ctx)
}

// openShop gives the producers' login the application's own table.
func (s *stage) openShop(ctx context.Context) error {
	owner := pgx.Identifier{s.producers.Name}.Sanitize()
	if err := execute(ctx, s.database.URL(), "CREATE SCHEMA shop AUTHORIZATION "+owner); err != nil {
		return fmt.Errorf("create the shop: %w", err)
	}
	if err := execute(ctx, s.producers.URL, shopSQL); err != nil {
		return fmt.Errorf("create the shop's table: %w", err)
	}
	return nil
}

func execute(ctx context.Context, url, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, setupLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

func (s *stage) startRelay(ctx context.Context) error {
	bootstrap, err := lambdatest.Build(ctx, "relay")
	if err != nil {
		return missing(err)
	}
	s.function, err = lambdatest.Open(ctx, lambdatest.Config{
		Bootstrap: bootstrap,
		Env:       relayEnvironment(s.relay.URL, s.bus.URL()),
		Timeout:   relayTimeout,
	})
	return missing(err)
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
	if s.function != nil {
		s.function.Close()
	}
	if s.bus != nil {
		s.bus.Close()
	}
	if s.server == nil {
		return nil
	}
	return s.server.Stop()
}
