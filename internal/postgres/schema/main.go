// Command schema prints the SQL script that creates the outbox: tables, roles
// and grants. OUTBOX_TABLE names the table as it does for the functions.
package main

import (
	"fmt"
	"os"

	"outboxrelay/internal/config"
	"outboxrelay/internal/postgres"
)

func main() {
	table, err := config.ForSchema(os.Environ())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(postgres.Schema(postgres.Table(table)))
}
