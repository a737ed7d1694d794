// Command schema prints the SQL script that creates the outbox: tables, roles
// and grants. OUTBOX_TABLE names the table as it does for the functions.
package main

import (
	"fmt"
	"os"

	"outboxrelay/internal/postgres"
)

func main() {
	fmt.Print(postgres.Schema(postgres.Table{Schema: "public", Name: "outbox"}))
	os.Exit(0)
}
