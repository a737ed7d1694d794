package postgres_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/postgres"
	"outboxrelay/internal/postgrestest"
)

// document has the fenced blocks of a file of docs/ by the heading they are
// under and by their language, "sql" or "sh".
type document map[string]map[string][]string

// readDocument reads docs/own-tables.md.
func readDocument(t *testing.T) document {
	t.Helper()
	return readDocumentNamed(t, "own-tables.md")
}

func readDocumentNamed(t *testing.T, name string) document {
	t.Helper()
	content, err := os.ReadFile("../../docs/" + name)
	require.NoError(t, err)
	found, heading, language := document{}, "", ""
	var block []string
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		fence, fenced := strings.CutPrefix(line, "```")
		switch {
		case fenced && language == "":
			language, block = fence, nil
		case fenced:
			if found[heading] == nil {
				found[heading] = map[string][]string{}
			}
			found[heading][language] = append(found[heading][language], strings.Join(block, "\n"))
			language = ""
		case language != "":
			block = append(block, line)
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
		}
	}
	return found
}

// statements are those of the SQL under a heading, in turn.
func (d document) statements(t *testing.T, heading string) []string {
	t.Helper()
	blocks := d[heading]["sql"]
	require.NotEmpty(t, blocks, "no SQL under %q", heading)
	return split(strings.Join(blocks, "\n"))
}

// split is for SQL in which a semicolon that ends a line ends a statement, but
// for those between $$ and $$.
func split(sql string) []string {
	var statements []string
	var statement strings.Builder
	for line := range strings.Lines(sql + "\n") {
		statement.WriteString(line)
		quoted := strings.Count(statement.String(), "$$")%2 == 1
		if strings.HasSuffix(line, ";\n") && !quoted {
			statements = append(statements, statement.String())
			statement.Reset()
		}
	}
	return append(statements, strings.Fields(statement.String())...) // what is left over is no statement, and fails
}

// run runs the SQL under headings as psql does, statement by statement.
func (d document) run(t *testing.T, conn *pgx.Conn, headings ...string) {
	t.Helper()
	for _, heading := range headings {
		for _, statement := range d.statements(t, heading) {
			_, err := conn.Exec(t.Context(), statement)
			require.NoError(t, err, statement)
		}
	}
}

// grants returns the script that the shell commands under a heading leave in
// grants.sql, given what make schema prints.
func (d document) grants(t *testing.T, heading string) string {
	t.Helper()
	blocks := d[heading]["sh"]
	require.Len(t, blocks, 1, heading)
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "schema.sql"), []byte(postgres.Schema(publicOutbox)), 0o600))
	shell := exec.CommandContext(t.Context(), "sh", "-ec", `make() { test "$*" = '-s schema' && cat schema.sql; }`+"\n"+blocks[0])
	shell.Dir = directory
	output, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", output)
	script, err := os.ReadFile(filepath.Join(directory, "grants.sql"))
	require.NoError(t, err)
	require.NotContains(t, string(script), "COMMIT", "there is no BEGIN")
	return string(script)
}

// What an operator is told to run can be run, by whom it is told to.
func TestTheStatementsForAnOperatorCanBeRun(t *testing.T) {
	t.Parallel()

	db, document := newDatabase(t), readDocumentNamed(t, "operation.md")
	db.pending(t, 1)
	db.failed(t, 2)
	db.Exec(t, "UPDATE outbox_failed SET error_code = 'NotAuthorizedForSourceException' WHERE seq = 2")

	operator, owner := postgrestest.Connect(t, db.asAdmin(t).login.URL), db.Conn(t)
	for _, heading := range []string{"Events do not arrive", "A transaction stays open", "Events have failed"} {
		for _, statement := range document.statements(t, heading) {
			by := operator
			if strings.HasPrefix(statement, "-- as the owner") {
				by = owner
			}
			_, err := by.Exec(t.Context(), statement)
			require.NoError(t, err, statement)
		}
	}

	require.Equal(t, "shop", db.text(t, "SELECT string_agg(source, ' ') FROM outbox_failed"))
}

// What the document has an administrator do, on a server that knows no outbox yet,
// is all that the functions and the application need.
func TestALoginForEachFunctionIsMadeAsTheDocumentHasIt(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t, postgrestest.On(postgrestest.NewServer(t, postgrestest.Options{})))
	login := func(name string) postgrestest.Login { return postgrestest.Login{Name: name, URL: db.URLAs(name)} }
	as := func(name string) *database { return &database{db, login(name)} }
	db.Exec(t, "CREATE ROLE shop LOGIN")
	readDocumentNamed(t, "deployment.md").run(t, db.Conn(t), "A login for each function")

	owned := &owned{as("shop_relay"), login("shop_migrate"), &bytes.Buffer{}}
	require.Equal(t, 3, owned.migrate(t).To)
	require.NotContains(t, owned.log.String(), "WARN")

	_, err := postgrestest.Connect(t, db.URLAs("shop")).Exec(t.Context(),
		"INSERT INTO outbox (event_type, payload) SELECT 'a', '{}' FROM generate_series(1, 4)")
	require.NoError(t, err)
	live(t, owned.database, publicOutbox)
	require.Equal(t, 1, as("shop_lag").measure(t).Failed)
	_, err = as("shop_cleanup").clean(t, outbox.CleanerConfig{BatchSize: 10})
	require.NoError(t, err)
	require.Zero(t, db.QueryInt(t, "SELECT count(*) FROM outbox WHERE published_at IS NOT NULL"))
	requireRedriven(t, outbox.NewAdmin(postgres.NewAdminStore(as("shop_admin").connect, publicOutbox), nil), all, 3)
}
