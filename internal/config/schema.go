package config

// ForSchema reads which outbox the schema script is for, out of the environment of
// a person, who may have keys of any name.
func ForSchema(environ []string) (Table, error) {
	r := newReader(environ)
	table := r.table()
	return table, r.err()
}
