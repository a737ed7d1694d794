package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestTransactionsAreOfEveryKind(t *testing.T) {
	t.Parallel()
	var back, open, openAndBack int
	flaws := map[flaw]int{}
	ids := map[string]bool{}
	for n := 1; n <= 1000; n++ {
		made := newTransaction(n)
		require.NotEmpty(t, made.events)
		for _, e := range made.events {
			require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, e.id)
			require.NotContains(t, ids, e.id)
			ids[e.id] = true
			require.Equal(t, e.flaw != sound, refused(t, e))
			if e.flaw != sound {
				require.False(t, made.rollsBack)
				flaws[e.flaw]++
			}
		}
		if made.rollsBack {
			back++
		}
		if made.open > 0 {
			open++
		}
		if made.open > 0 && made.rollsBack {
			openAndBack++
		}
	}
	require.Equal(t, 100, back)
	require.Equal(t, 100, open)
	require.Equal(t, 50, openAndBack)
	require.Equal(t, map[flaw]int{reservedSource: 10, longKind: 10, tooLarge: 10}, flaws)
}

// refused tells what EventBridge never takes, by its documentation.
func refused(t *testing.T, e event) bool {
	t.Helper()
	payload, err := json.Marshal(e.data)
	require.NoError(t, err)
	return strings.HasPrefix(e.source, "aws.") || utf8.RuneCountInString(e.kind) > 128 || len(payload) > 1<<20
}

func TestOnlyWhatIsTooLargeIsNotMended(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 100; n++ {
		for _, e := range newTransaction(n).events {
			got := e.delivered()
			mended := event{kind: got.kind, source: got.source, data: got.data}
			require.Equal(t, e.flaw == tooLarge, refused(t, mended))
			require.NotEmpty(t, got.source)
		}
	}
}
