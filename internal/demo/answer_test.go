package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/lambdatest"
)

// answering is a function that gives these answers, and then errors.
func answering(answers ...string) invoke {
	return func(context.Context, any) (lambdatest.Response, error) {
		if len(answers) == 0 {
			return failedResponse("TestError", "no more answers"), nil
		}
		answer := answers[0]
		answers = answers[1:]
		return lambdatest.Response{Payload: []byte(answer)}, nil
	}
}

func TestWhatAFunctionReturnsAsAnErrorIsOne(t *testing.T) {
	t.Parallel()
	broken := errors.New("refused")

	got, err := ask[cleanupAnswer](t.Context(), answering(`{"deleted":3,"deleted_failed":2}`), nil)
	require.NoError(t, err)
	require.Equal(t, cleanupAnswer{3, 2}, got)
	_, err = ask[cleanupAnswer](t.Context(), answering(), nil)
	require.EqualError(t, err, "TestError: no more answers")
	_, err = ask[cleanupAnswer](t.Context(), answering(`[]`), nil)
	require.ErrorContains(t, err, "read the answer []: ")
	_, err = read[cleanupAnswer](lambdatest.Response{}, broken)
	require.ErrorIs(t, err, broken)
}

func TestMigrateIsHeldToItsAnswers(t *testing.T) {
	t.Parallel()
	const first, second = `{"from":0,"to":2,"applied":["0001_tables"]}`, `{"from":2,"to":2,"applied":[]}`

	made, err := migrate(t.Context(), answering(first, second))
	require.NoError(t, err)
	require.Equal(t, migrated{From: 0, To: 2, Applied: []string{"0001_tables"}}, made)

	for says, answers := range map[string][]string{
		"make the tables: TestError":     {},
		"for a database that is empty":   {second},
		"migrate once more: TestError":   {first},
		"migrate once more: it answered": {first, first},
	} {
		_, err := migrate(t.Context(), answering(answers...))
		require.ErrorContains(t, err, says)
	}
}

// answered is what the function admin answers for so many events.
func answered(matched, changed int) string {
	events := ""
	for n := range changed {
		if n > 0 {
			events += ","
		}
		events += fmt.Sprintf(`{"id":"%d of %d"}`, n+1, matched)
	}
	return fmt.Sprintf(`{"matched":%d,"changed":%d,"events":[%s]}`, matched, changed, events)
}
