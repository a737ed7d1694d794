package config

// ForSchema reads which outbox the schema script is for.
func ForSchema(environ []string) (Table, error) {
	r := newReader(environ)
	table := r.table()
	return table, r.err()
}
