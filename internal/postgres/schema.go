package postgres

import (
	_ "embed"
	"fmt"
	"strings"
)

var (
	//go:embed migration/0001_outbox.sql
	outboxSQL string
	//go:embed migration/0001_companions.sql
	companionsSQL string
	//go:embed migration/0002_redriven.sql
	redrivenSQL string
	//go:embed migration/0003_turn.sql
	turnSQL string
	//go:embed migration/storage.sql
	storageSQL string
	//go:embed migration/roles.sql
	rolesSQL string
)

// migration is a step from one version of the tables to the next.
type migration struct {
	name   string
	outbox string // what it does to the outbox itself; left out where that is the application's
	others string // what it does to its companions
	revoke bool   // the functions' roles may do less than before
	serves int    // the oldest version of the functions that can still work; 0: none but its own
}

// migrations in the order in which they are applied; the first makes version 1.
// Indexes are not among them: they are made by themselves, for a table that is
// written to meanwhile.
var migrations = []migration{
	{name: "0001_tables", outbox: outboxSQL, others: companionsSQL},
	{name: "0002_redriven", others: redrivenSQL, revoke: true},
	{name: "0003_turn", others: turnSQL, serves: 2},
}

// Schema returns the SQL script that creates the tables of an empty database,
// with roles and grants. It is one transaction: all of it is applied or nothing.
func Schema(table Table) string {
	var script strings.Builder
	script.WriteString("-- The tables of the outbox, with roles and grants.\n\nBEGIN;\n\n")
	for i, migration := range migrations {
		script.WriteString(table.rename(migration.outbox + "\n" + migration.others))
		script.WriteString("\n" + setVersion(table, i+1) + "\n\n")
	}
	script.WriteString(table.rename(storageSQL))
	for _, index := range indexes {
		comment := "-- " + strings.ReplaceAll(index.purpose, "\n", "\n-- ")
		script.WriteString("\n" + comment + "\n" + index.create(table) + ";\n")
	}
	script.WriteString("\n" + table.rename(rolesSQL))
	script.WriteString("\nCOMMIT;\n")
	return script.String()
}

func setVersion(table Table, version int) string {
	if serves := migrations[version-1].serves; serves > 0 {
		return fmt.Sprintf("INSERT INTO %s (version, serves) VALUES (%d, %d);", table.companion("_schema"), version, serves)
	}
	return fmt.Sprintf("INSERT INTO %s (version) VALUES (%d);", table.companion("_schema"), version)
}
