package postgres

import (
	_ "embed"
	"fmt"
	"strings"
)

var (
	//go:embed migration/0001_tables.sql
	tablesSQL string
	//go:embed migration/0002_redriven.sql
	redrivenSQL string
	//go:embed migration/storage.sql
	storageSQL string
	//go:embed migration/roles.sql
	rolesSQL string
)

// migration is a step from one version of the tables to the next.
type migration struct {
	name string
	sql  string
}

// migrations in the order in which they are applied; the first makes version 1.
// Indexes are not among them: they are made by themselves, for a table that is
// written to meanwhile.
var migrations = []migration{
	{"0001_tables", tablesSQL},
	{"0002_redriven", redrivenSQL},
}

// Schema returns the SQL script that creates the tables of an empty database,
// with roles and grants. It is one transaction: all of it is applied or nothing.
func Schema(table Table) string {
	var script strings.Builder
	script.WriteString("-- The tables of the outbox, with roles and grants.\n\nBEGIN;\n\n")
	for i, migration := range migrations {
		script.WriteString(table.rename(migration.sql))
		fmt.Fprintf(&script, "\nINSERT INTO %s (version) VALUES (%d);\n\n", table.companion("_schema"), i+1)
	}
	script.WriteString(table.rename(storageSQL))
	for _, index := range indexes {
		comment := "-- " + strings.ReplaceAll(index.purpose, "\n", "\n-- ")
		fmt.Fprintf(&script, "\n%s\nCREATE INDEX %s ON %s %s;\n",
			comment, index.name(table), table.companion(index.on), index.definition())
	}
	script.WriteString("\n" + table.rename(rolesSQL))
	script.WriteString("\nCOMMIT;\n")
	return script.String()
}
