package postgres

import _ "embed"

// The statements of a measurement, as the files have them.
var (
	//go:embed query/lag_begin.sql
	lagBeginSQL string
	//go:embed query/lag_settings.sql
	lagSettingsSQL string
	//go:embed query/lag_limit.sql
	lagLimitSQL string
	//go:embed query/lag_pending.sql
	lagPendingSQL string
	//go:embed query/lag_failed.sql
	lagFailedSQL string
	//go:embed query/lag_published.sql
	lagPublishedSQL string
	//go:embed query/lag_dead.sql
	lagDeadSQL string
	//go:embed query/lag_transactions.sql
	lagTransactionsSQL string
)

// lagQueries are the statements for one table.
type lagQueries struct {
	begin, settings, limit, pending, failed, published, dead, transactions string
}

func newLagQueries(table Table) lagQueries {
	return lagQueries{
		begin:        table.statement(lagBeginSQL),
		settings:     table.statement(lagSettingsSQL),
		limit:        table.statement(lagLimitSQL),
		pending:      table.statement(lagPendingSQL),
		failed:       table.statement(lagFailedSQL),
		published:    table.statement(lagPublishedSQL),
		dead:         table.statement(lagDeadSQL),
		transactions: table.statement(lagTransactionsSQL),
	}
}
