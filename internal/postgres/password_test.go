package postgres

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"outboxrelay/internal/postgrestest"
)

// passwords are of all ASCII characters but NUL, which no password can have, and
// of letters beyond. Left out are letters that the server's SASLprep turns into
// others (ligatures, full width): there the driver does otherwise.
func passwords() *rapid.Generator[string] {
	alphabet := []rune("äÖßéñЖδ漢字한€🔑")
	for r := rune(1); r < 128; r++ {
		alphabet = append(alphabet, r)
	}
	special := []rune(`'"\@:/?#%&=+ $[]{}` + "`\t\n")
	return rapid.StringOfN(rapid.OneOf(rapid.SampledFrom(special), rapid.SampledFrom(alphabet)), 1, 24, -1)
}

// inKeywords quotes a value for a keyword string.
func inKeywords(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}

// inPassfile tells whether a line of a passfile can hold a password: it ends with
// the line, and the driver trims what is around it.
func inPassfile(password string) bool {
	return password == strings.TrimSpace(password) && !strings.ContainsAny(password, "\r\n")
}

// Not parallel: it changes the environment.
func TestLogsInWithAnyPasswordInEveryForm(t *testing.T) {
	db := postgrestest.New(t)
	login := db.CreateLogin(t)
	passfile := filepath.Join(t.TempDir(), "pgpass")
	t.Setenv("PGPASSFILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("PGPASSWORD", "wrong")
	at := fmt.Sprintf("host=127.0.0.1 port=%d dbname=%s user=%s sslmode=disable", db.Server.Port(), db.Name, login.Name)
	inURL := fmt.Sprintf("127.0.0.1:%d/%s?sslmode=disable", db.Server.Port(), db.Name)

	rapid.Check(t, func(r *rapid.T) {
		password := passwords().Draw(r, "password")
		db.Exec(t, fmt.Sprintf("alter role %s password %s", login.Name, literal(password)))
		secret, err := json.Marshal(map[string]string{"username": login.Name, "password": password})
		require.NoError(r, err)
		forms := map[string]Settings{
			"URL":      {URL: "postgres://" + url.UserPassword(login.Name, password).String() + "@" + inURL},
			"query":    {URL: "postgres://" + login.Name + "@" + inURL + "&password=" + percent(password)},
			"keywords": {URL: at + " password=" + inKeywords(password)},
			"secret":   {URL: at + " password=wrong", SecretARN: secretARN},
		}
		for form, settings := range forms {
			requireLogin(t, r, form, settings, holding(string(secret)))
		}

		require.NoError(r, os.Setenv("PGPASSWORD", password)) //nolint:usetesting // T.Setenv above puts it back
		requireLogin(t, r, "PGPASSWORD", Settings{URL: at}, nil)
		require.NoError(r, os.Unsetenv("PGPASSWORD"))
		if inPassfile(password) {
			line := "127.0.0.1:*:*:" + login.Name + ":" + strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(password) + "\n"
			require.NoError(r, os.WriteFile(passfile, []byte(line), 0o600))
			requireLogin(t, r, "passfile", Settings{URL: at + " passfile=" + inKeywords(passfile)}, nil)
		}
		require.NoError(r, os.Setenv("PGPASSWORD", "wrong")) //nolint:usetesting // as above
	})
}

// literal quotes a text for SQL.
func literal(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

func requireLogin(t *testing.T, r *rapid.T, form string, settings Settings, secrets SecretsManager) {
	t.Helper()
	connector, err := NewConnector(settings, secrets)
	require.NoError(r, err, form)
	conn, err := connector.Connect(t.Context())
	require.NoError(r, err, form)
	require.NoError(r, conn.Close(t.Context()), form)
}

// percent encodes as a URL of PostgreSQL wants it: to that + is no blank.
func percent(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
