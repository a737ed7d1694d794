package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"outboxrelay/internal/outbox"
)

// Store is the outbox in a PostgreSQL database. It implements outbox.Store.
type Store struct {
	connect   func(context.Context) (*pgx.Conn, error)
	table     Table
	bus       string
	queries   queries
	published string // the statement for accepted rows
}

// StoreConfig says which outbox a Store serves.
type StoreConfig struct {
	Table Table
	// Bus is the event bus, by name or ARN, of rows without a topic.
	Bus string
	// DeletePublished removes accepted rows instead of marking them.
	DeletePublished bool
}

// relayRole is the role of a store's user.
const relayRole = "outbox_relay"

// NewStore returns a store whose sessions are connections that connect opens.
// It does not connect yet.
func NewStore(connect func(context.Context) (*pgx.Conn, error), config StoreConfig) *Store {
	queries := newQueries(config.Table)
	store := &Store{connect: connect, table: config.Table, bus: config.Bus, queries: queries, published: queries.mark}
	if config.DeletePublished {
		store.published = queries.remove
	}
	return store
}

// Connect implements outbox.Store.
func (s *Store) Connect(ctx context.Context) (outbox.Session, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &session{link{conn, s.table, relayRole}, s}, nil
}
