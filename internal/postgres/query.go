package postgres

import (
	"embed"
	"path"
	"strings"
)

//go:embed query/*.sql
var queryFiles embed.FS

// queries are the statements of query/, for one table.
type queries struct {
	begin, settings, claim     string
	mark, delete, deferr, fail string
}

func newQueries(table Table) queries {
	read := func(name string) string {
		text, err := queryFiles.ReadFile(path.Join("query", name+".sql"))
		if err != nil {
			panic(err) // the binary was built without its statements
		}
		return table.rename(withoutComments(string(text)))
	}
	return queries{
		begin:    read("begin"),
		settings: read("settings"),
		claim:    read("claim"),
		mark:     read("mark"),
		delete:   read("delete"),
		deferr:   read("defer"),
		fail:     read("fail"),
	}
}

// withoutComments drops comment lines: they are for the reader of the file, and
// every statement crosses the network each time it is run.
func withoutComments(sql string) string {
	var kept []string
	for line := range strings.Lines(sql) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return strings.Join(kept, "\n")
}
