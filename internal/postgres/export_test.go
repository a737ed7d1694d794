package postgres

// ClaimSQL returns the statements of a claim's transaction as the store sends
// them, for tests that explain them.
func ClaimSQL(table Table) (begin, settings, claim string) {
	queries := newQueries(table)
	return queries.begin, queries.settings, queries.claim
}
