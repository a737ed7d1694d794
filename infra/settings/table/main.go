// Command table writes the settings into the documentation: between the two
// markers of the file that it is given.
package main

import (
	"fmt"
	"os"

	"outboxrelay/infra/settings"
)

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	documented, err := settings.Document(string(content))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(documented), 0o644)
}
