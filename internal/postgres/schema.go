package postgres

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations in the order in which they are applied; the first is version 1.
var migrations = []string{"0001_tables"}

// Schema returns the SQL script that creates the tables of an empty database,
// with roles and grants. It is one transaction: all of it is applied or nothing.
func Schema(table Table) string {
	var script strings.Builder
	fmt.Fprintf(&script, "-- The outbox %s: tables, roles and grants.\n\nBEGIN;\n\n", table)
	for i, name := range migrations {
		script.WriteString(table.rename(migration(name)))
		fmt.Fprintf(&script, "\nINSERT INTO %s (version) VALUES (%d);\n\n", Table{table.Schema, table.Name + "_schema"}, i+1)
	}
	script.WriteString(table.rename(migration("roles")))
	script.WriteString("\nCOMMIT;\n")
	return script.String()
}

func migration(name string) string {
	text, err := migrationFiles.ReadFile(path.Join("migration", name+".sql"))
	if err != nil {
		panic(err) // the binary was built without its migrations
	}
	return string(text)
}
