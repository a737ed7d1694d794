package eventbridgetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

var details = []string{
	`{}`, ` { } `, `{"a":1}`, `{"a":-0}`, `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":1.5e+7}`, `{"a":1e}`, `{"a":.5}`,
	`{"a":true,"b":false,"c":null}`, `{"a":tru}`, `{"a":"\u00e9\n\"\\\/"}`, `{"a":"\u00g9"}`, `{"a":"\x"}`, `{"a":"\`,
	"{\"a\":\"\n\"}", `{"a" : [ 1 , [ ] , { "b" : [ "c" ] } ] }`, `{"a":[1,]}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`,
	`{a:1}`, `{"a":1`, `{"a":[1`, `{"a":"b`, `{`, `}`, ``, `{"a":1}x`, `{"a":1}{}`, `{"a":"é€😀"}`, `{"a":[}`, `{"a":1 2}`,
	`{"metadata":{"id":"x","id":"y"}}`, `{"id":5}`, `{"":""}`, "{\"a\":\"\x00\"}", `{"a":"\u"}`, `{"a":"\u+123"}`,
}

func TestScanDetail(t *testing.T) {
	t.Parallel()

	t.Run("AgreesWithEncodingJSON", func(t *testing.T) {
		t.Parallel()
		for _, text := range details {
			require.Equal(t, json.Valid([]byte(text)), scanDetail(text).ok, text)
		}
	})

	t.Run("RefusesWhatIsNotUTF8", func(t *testing.T) {
		t.Parallel()
		require.False(t, scanDetail("{\"a\":\"\xff\"}").ok)
	})
}

func FuzzScanDetail(f *testing.F) {
	for _, text := range details {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		scan := scanDetail(text)
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
			require.False(t, scan.ok)
			return
		}
		if id, ok := object["id"].(string); ok && scan.ok {
			require.Equal(t, id, scan.id)
		}
	})
}

func TestUnquote(t *testing.T) {
	t.Parallel()

	t.Run("AgreesWithEncodingJSON", func(t *testing.T) {
		t.Parallel()
		for _, quoted := range []string{
			`""`, `"plain"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9x"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`,
			`"\ude00\ud83d"`, `"a\\"`, `"é😀\u2028"`,
		} {
			var expected string
			require.NoError(t, json.Unmarshal([]byte(quoted), &expected))
			s := scanner{text: quoted}
			read, ok := s.str()
			require.True(t, ok, quoted)
			require.Equal(t, expected, unquote(read), quoted)
		}
	})
}
