package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"outboxrelay/internal/outbox"
)

// AdminStore is the outbox as an operator's actions need it. It implements
// outbox.AdminStore.
type AdminStore struct {
	connect func(context.Context) (*pgx.Conn, error)
	table   Table
	queries adminQueries
}

// NewAdminStore returns a store whose sessions are connections that connect
// opens. It does not connect yet.
func NewAdminStore(connect func(context.Context) (*pgx.Conn, error), table Table) *AdminStore {
	return &AdminStore{connect: connect, table: table, queries: newAdminQueries(table)}
}

// Connect implements outbox.AdminStore.
func (s *AdminStore) Connect(ctx context.Context) (outbox.AdminSession, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &adminSession{link{conn, s.table, "outbox_admin"}, s}, nil
}
