package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestTransactionsAreOfEveryKind(t *testing.T) {
	t.Parallel()
	var back, open, openAndBack, doomed int
	ids := map[string]bool{}
	for n := 1; n <= 1000; n++ {
		made := newTransaction(n)
		require.NotEmpty(t, made.events)
		for _, e := range made.events {
			require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, e.id)
			require.NotContains(t, ids, e.id)
			ids[e.id] = true
			require.Equal(t, refused(e), e.doomed)
			if e.doomed {
				require.False(t, made.rollsBack)
				doomed++
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
	require.Equal(t, 20, doomed)
}

// refused tells what EventBridge never takes, by its documentation.
func refused(e event) bool {
	return strings.HasPrefix(e.source, "aws.") || utf8.RuneCountInString(e.kind) > 128
}
