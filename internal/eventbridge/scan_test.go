package eventbridge

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestScanAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `[[],{}]`, `{"a":{"b":[1,2,{"c":null}]}}`, ` [ 1 , 2 ] `, "\t\r\n{\"a\" : 1}\n", `""`, `"\u00e9\n\/"`, `true`, `false`,
		`null`, `0`, `-0`, `-1.5e+10`, `1E2`, `0.1`, "\"\u2028\"",
		``, ` `, `{`, `}`, `[`, `]`, `[}`, `{]`, `[1,]`, `[,1]`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{1:2}`, `[1 2]`, `1 2`, `{} {}`,
		`[]]`, `"`, `"\`, `"\x"`, `"\u12g4"`, `"\u123`, "\"\n\"", "\"\x00\"", `01`, `-`, `-a`, `1.`, `.5`, `1e`, `1e+`, `+1`, `0x1`, `tru`, `truer`,
		`nul`, `NaN`, `Infinity`, `'a'`, "\ufeff{}", "\u00a0{}", `{"a":1}}`, `[1]//x`,
	} {
		require.Equal(t, json.Valid([]byte(text)), scan(text, maxLevels) == nil, "%q", text)
	}
}

func TestScanAgreesWithEncodingJSONOnWhatNobodyThoughtOf(t *testing.T) {
	t.Parallel()

	pieces := rapid.SampledFrom([]string{
		"{", "}", "[", "]", ",", ":", `"`, `"a"`, `\`, "1", "-", ".", "e", "0", "true", "null", " ", "\n", "\x00", "é", "\xff", `\u00e9`, `"k":`,
	})

	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for _, piece := range rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces") {
			text += piece
		}

		require.Equal(t, json.Valid([]byte(text)), scan(text, maxLevels) == nil, "%q", text)
	})
}

func FuzzScan(f *testing.F) {
	f.Add(`{"a":[1,-2.5e3,"\u00e9",true,null]}`)
	f.Fuzz(func(t *testing.T, text string) {
		f := scan(text, maxLevels)
		if f != nil && json.Valid([]byte(text)) {
			require.Regexp(t, "64 bits|nested", f.reason)
		}

		require.False(t, f == nil && !json.Valid([]byte(text)))
	})
}

func TestScanKnowsTheRangeOfIntegers(t *testing.T) {
	t.Parallel()
	for number, ok := range map[string]bool{
		"9223372036854775807": true, "-9223372036854775808": true, "999999999999999999": true, "-0": true,
		"9223372036854775808": false, "-9223372036854775809": false, "12345678901234567890": false, "-10000000000000000000000": false,
		"9223372036854775808.0": true, "1E400": true, "12345678901234567890e0": true,
	} {
		require.Equal(t, ok, scan(`{"n":[`+number+`]}`, maxLevels) == nil, number)
	}
}

func TestScanCountsLevelsWithoutRecursion(t *testing.T) {
	t.Parallel()

	require.Nil(t, scan(nested(1000), 1000))
	require.Nil(t, scan("["+nested(999)+","+nested(999)+"]", 1000))
	for _, levels := range []int{1001, 1200, 100_000, 5_000_000} {
		f := scan(nested(levels), 1000)
		require.NotNil(t, f)
		require.Contains(t, f.String(), "nested deeper than the 1000 levels")
	}

	require.NotNil(t, scan(`{}`, 0))
	require.Nil(t, scan(`7`, 0))
}

func TestScanNamesThePlaceAndQuotesNothing(t *testing.T) {
	t.Parallel()

	require.Equal(t, "it is no JSON: unexpected character at byte 8", scan(`{"pin": §4711}`, maxLevels).String())
	require.Equal(t, "it is no JSON: unexpected end at byte 8", scan(`{"pin": `, maxLevels).String())
	require.Equal(t, "control character in a string at byte 2", scan("\"a\nb\"", maxLevels).String())
}
