package eventbridge

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestPrintableTakesPayloadsOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Detail is malformed.": "Detail is malformed.",
		`1 validation error detected: Value '[PutEventsRequestEntry(source=a, detail={"pin":4711})]' at 'entries' failed to satisfy constraint: Member must have length less than or equal to 10`: `1 validation error detected: Value '...' at 'entries' failed to satisfy constraint: Member must have length less than or equal to 10`,
		`bad: {"pin":"47'11"} in entry 3`:                 `bad: {...} in entry 3`,
		`bad: {"pin":"4711`:                               `bad: {...}`,
		"Value 'a\nb' at 'x' and Value 'c' at 'y' failed": `Value '...' at 'y' failed`,
		"nul\x00 and \xff":                                "nul and \ufffd",
		"":                                                "",
	} {
		require.Equal(t, want, printable(text))
	}
}

func TestPrintableIsShort(t *testing.T) {
	t.Parallel()

	text := printable(strings.Repeat("ü", 1_000_000) + "x")
	require.Less(t, len(text), 1010)
	require.True(t, utf8.ValidString(text))
	require.True(t, utf8.ValidString(printable("x"+strings.Repeat("ü", 1_000_000))))
}
