package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Table names the outbox by identifiers as they are: not quoted, case as it counts.
type Table struct {
	Schema string
	Name   string
}

const (
	// identifierLimit is PostgreSQL's, in bytes; it cuts longer ones silently.
	identifierLimit = 63
	// nameLimit leaves room for the longest suffix of what is named after the
	// outbox: its companions, partitions and indexes.
	nameLimit = identifierLimit - len("_p202611300000")
)

// identifier matches one SQL identifier at the start of a text: in double
// quotes, doubled inside, or plain.
var identifier = regexp.MustCompile(`^(?:"(?:[^"]|"")+"|[A-Za-z_\x{80}-\x{10FFFF}][A-Za-z0-9_$\x{80}-\x{10FFFF}]*)`)

// parseTable reads a table's name as SQL does: schema.table or table, which is
// in the schema public.
func parseTable(text string) (Table, error) {
	parts, err := splitIdentifiers(text)
	if err != nil {
		return Table{}, err
	}
	table := Table{Schema: "public", Name: parts[len(parts)-1]}
	if len(parts) == 2 {
		table.Schema = parts[0]
	}
	return table, table.validate(len(parts))
}

func (t Table) validate(parts int) error {
	switch {
	case parts > 2:
		return errors.New("schema.table without a database")
	case len(t.Schema) > identifierLimit:
		return fmt.Errorf("a schema of at most %d bytes", identifierLimit)
	case len(t.Name) > nameLimit:
		return fmt.Errorf("a table name of at most %d bytes, so that names made from it (%s_failed) fit", nameLimit, "<name>")
	}
	return nil
}

// splitIdentifiers returns at least one identifier, as it is.
func splitIdentifiers(text string) ([]string, error) {
	malformed := errors.New(`schema.table or table, each plain or in double quotes as in SQL, for example "My Schema"."Outbox"`)
	if !utf8.ValidString(text) {
		return nil, malformed
	}
	var parts []string
	for {
		written := identifier.FindString(text)
		if written == "" {
			return nil, malformed
		}
		parts = append(parts, bare(written))
		rest := text[len(written):]
		if rest == "" {
			return parts, nil
		}
		if rest[0] != '.' {
			return nil, malformed
		}
		text = rest[1:]
	}
}

// bare takes the quotes off an identifier, or folds it as SQL does without them.
func bare(written string) string {
	if inner, quoted := strings.CutPrefix(written, `"`); quoted {
		return strings.ReplaceAll(strings.TrimSuffix(inner, `"`), `""`, `"`)
	}
	return strings.Map(lowerASCII, written)
}

// lowerASCII leaves other letters alone, as PostgreSQL does in UTF-8.
func lowerASCII(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}
