package postgres

import _ "embed"

// The statements of an operator's actions, as the files have them.
var (
	//go:embed query/admin_settings.sql
	adminSettingsSQL string
	//go:embed query/admin_find.sql
	adminFindSQL string
	//go:embed query/admin_count.sql
	adminCountSQL string
	//go:embed query/admin_known.sql
	adminKnownSQL string
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

// adminQueries are the statements of an operator's actions for one table.
type adminQueries struct {
	begin, settings                    string
	find, lock, count, known           string
	columns, present, redrive, discard string
	pause, resume, pausedBuses, byCode string
}

func newAdminQueries(table Table) adminQueries {
	return adminQueries{
		begin:       table.statement(beginSQL),
		settings:    table.statement(adminSettingsSQL),
		find:        table.statement(adminFindSQL),
		lock:        table.statement(adminFindSQL + "\nFOR UPDATE"),
		count:       table.statement(adminCountSQL),
		known:       table.statement(adminKnownSQL),
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
