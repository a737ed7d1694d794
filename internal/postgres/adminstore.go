package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"

	"outboxrelay/internal/outbox"
)

// The statements of an operator's actions, as the files have them.
var (
	//go:embed query/admin_settings.sql
	adminSettingsSQL string
	//go:embed query/admin_find.sql
	adminFindSQL string
	//go:embed query/admin_count.sql
	adminCountSQL string
	//go:embed query/admin_missing.sql
	adminMissingSQL string
	//go:embed query/admin_columns.sql
	adminColumnsSQL string
	//go:embed query/admin_present.sql
	adminPresentSQL string
	//go:embed query/admin_redrive.sql
	adminRedriveSQL string
	//go:embed query/admin_discard.sql
	adminDiscardSQL string
	//go:embed query/admin_pause.sql
	adminPauseSQL string
	//go:embed query/admin_resume.sql
	adminResumeSQL string
	//go:embed query/admin_paused.sql
	adminPausedSQL string
	//go:embed query/admin_codes.sql
	adminCodesSQL string
)

// AdminStore is the outbox as an operator's actions need it. It implements
// outbox.AdminStore.
type AdminStore struct {
	connect func(context.Context) (*pgx.Conn, error)
	table   Table
	queries adminQueries
}

// adminQueries are the statements of an operator's actions for one table.
type adminQueries struct {
	begin, settings                    string
	find, lock, count, missing         string
	columns, present, redrive, discard string
	pause, resume, pausedBuses, byCode string
}

// NewAdminStore returns a store whose sessions are connections that connect
// opens. It does not connect yet.
func NewAdminStore(connect func(context.Context) (*pgx.Conn, error), table Table) *AdminStore {
	return &AdminStore{connect: connect, table: table, queries: newAdminQueries(table)}
}

func newAdminQueries(table Table) adminQueries {
	return adminQueries{
		begin:       table.statement(beginSQL),
		settings:    table.statement(adminSettingsSQL),
		find:        table.statement(adminFindSQL),
		lock:        table.statement(adminFindSQL + "\nFOR UPDATE"),
		count:       table.statement(adminCountSQL),
		missing:     table.statement(adminMissingSQL),
		columns:     table.statement(adminColumnsSQL),
		present:     table.statement(adminPresentSQL),
		redrive:     table.statement(adminRedriveSQL),
		discard:     table.statement(adminDiscardSQL),
		pause:       table.statement(adminPauseSQL),
		resume:      table.statement(adminResumeSQL),
		pausedBuses: table.statement(adminPausedSQL),
		byCode:      table.statement(adminCodesSQL),
	}
}

// Connect implements outbox.AdminStore.
func (s *AdminStore) Connect(ctx context.Context) (outbox.AdminSession, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &adminSession{link{conn, s.table, "outbox_admin"}, s}, nil
}
