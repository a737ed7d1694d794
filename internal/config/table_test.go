package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"outboxrelay/internal/config"
)

func table(text string) (config.Table, error) {
	return config.ForSchema([]string{"OUTBOX_TABLE=" + text})
}

func TestReadsTheTableAsSQLDoes(t *testing.T) {
	t.Parallel()

	for text, expected := range map[string]config.Table{
		`outbox`:                       {Schema: "public", Name: "outbox"},
		`Outbox`:                       {Schema: "public", Name: "outbox"},
		`Sales.Out_Box$1`:              {Schema: "sales", Name: "out_box$1"},
		`"Outbox"`:                     {Schema: "public", Name: "Outbox"},
		`"My Schema"."Out""box"`:       {Schema: "My Schema", Name: `Out"box`},
		`"a.b".c`:                      {Schema: "a.b", Name: "c"},
		`Größe`:                        {Schema: "public", Name: "größe"},
		`ÄRGER`:                        {Schema: "public", Name: "Ärger"},
		strings.Repeat("n", 49):        {Schema: "public", Name: strings.Repeat("n", 49)},
		strings.Repeat("s", 63) + ".o": {Schema: strings.Repeat("s", 63), Name: "o"},
	} {
		got, err := table(text)
		require.NoError(t, err, text)
		require.Equal(t, expected, got, text)
	}
}

func TestRefusesWhatIsNoTable(t *testing.T) {
	t.Parallel()

	for _, text := range []string{
		``, ` `, `.`, `a.`, `.a`, `a..b`, `a.b.c`, `a b`, ` a`, `a `, `a . b`, `1a`, `a-b`, `a;b`, `"`, `""`, `"a`, `"a"b`, `a"b"`,
		`a'b`, "a\xff", strings.Repeat("n", 50), strings.Repeat("s", 64) + ".o", `"` + strings.Repeat("ä", 25) + `"`,
	} {
		_, err := table(text)
		require.ErrorContains(t, err, "OUTBOX_TABLE is ", "%q", text)
	}
}

func TestTheSchemaHasTheDefaultTableToo(t *testing.T) {
	t.Parallel()

	got, err := config.ForSchema(nil)

	require.NoError(t, err)
	require.Equal(t, config.Table{Schema: "public", Name: "outbox"}, got)
}

func TestAnyQuotedNameComesBackAsItIs(t *testing.T) {
	t.Parallel()

	quote := func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.StringN(1, -1, 49).Filter(func(s string) bool { return !strings.Contains(s, "\x00") })
		expected := config.Table{Schema: names.Draw(t, "schema"), Name: names.Draw(t, "name")}

		got, err := table(quote(expected.Schema) + "." + quote(expected.Name))

		require.NoError(t, err)
		require.Equal(t, expected, got)
	})
}
