package main

import (
	"flag"
	"os"
	"strings"
	"testing"
)

// TestMain lets more tests run at once than there are cores: most of them wait,
// for a slow bus or for a time limit.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "10")
	}
	os.Exit(m.Run())
}

// nested is JSON text of arrays in arrays.
func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}
