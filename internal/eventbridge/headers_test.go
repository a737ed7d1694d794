package eventbridge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeaderStringFindsATopLevelText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"traceparent":"00-ab"}`:                                      `"00-ab"`,
		` { "a" : [1,{"traceparent":"no"}] , "traceparent" : "yes" } `: `"yes"`,
		`{"traceparent":"first","traceparent":"last"}`:                 `"last"`,
		`{"traceparent":"with \"quotes\""}`:                            `"with \"quotes\""`,
		`{"traceparent":""}`:                                           "",
		`{"traceparent":7}`:                                            "",
		`{"traceparent":null}`:                                         "",
		`{"traceparent":{"traceparent":"x"}}`:                          "",
		`{"traceparents":"x","xtraceparent":"y"}`:                      "",
		`{"a":"traceparent"}`:                                          "",
		`{"Traceparent":"x"}`:                                          "",
		`{}`:                                                           "",
		``:                                                             "",
		`{"traceparent"`:                                               "",
		`traceparent`:                                                  "",
		`["traceparent"]`:                                              "",
	} {
		require.Equal(t, want, headerString(text, traceParentKey), text)
	}
}

func TestTraceHeaderIsLeftOutWhereEventBridgeWouldRefuseIt(t *testing.T) {
	t.Parallel()

	header := func(value string) *string { return traceHeader(`{"xray_trace_id":` + value + `}`) }

	require.Equal(t, "Root=1-5759e988-bd862e3fe1be46a994272793", *header(`"Root=1-5759e988-bd862e3fe1be46a994272793"`))
	require.Equal(t, `a"b`, *header(`"a\"b"`))
	require.Equal(t, strings.Repeat("ü", 500), *header(`"` + strings.Repeat("ü", 500) + `"`))
	require.Nil(t, header(`"`+strings.Repeat("x", 501)+`"`))
	require.Nil(t, header(`""`))
	require.Nil(t, header(`17`))
	require.Nil(t, header(`{"xray_trace_id":"x"}`))
	require.Nil(t, traceHeader(""))
	require.Nil(t, traceHeader("null"))
}

func TestNullHeadersAreAbsent(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "null", " null\n", " \t"} {
		require.Empty(t, presentHeaders(text))
	}

	require.Equal(t, "{}", presentHeaders("{}"))
	require.Equal(t, `"null"`, presentHeaders(`"null"`))
}
