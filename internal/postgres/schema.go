package postgres

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed migration/0001_tables.sql
var tablesSQL string

//go:embed migration/roles.sql
var rolesSQL string

// migrations in the order in which they are applied; the first is version 1.
var migrations = []string{tablesSQL}

// Schema returns the SQL script that creates the tables of an empty database,
// with roles and grants. It is one transaction: all of it is applied or nothing.
func Schema(table Table) string {
	var script strings.Builder
	script.WriteString("-- The tables of the outbox, with roles and grants.\n\nBEGIN;\n\n")
	for i, migration := range migrations {
		script.WriteString(table.rename(migration))
		fmt.Fprintf(&script, "\nINSERT INTO %s (version) VALUES (%d);\n\n", table.companion("_schema"), i+1)
	}
	script.WriteString(table.rename(rolesSQL))
	script.WriteString("\nCOMMIT;\n")
	return script.String()
}
