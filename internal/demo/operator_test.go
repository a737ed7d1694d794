package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/lambdatest"
)

// operate is an operator whose function admin gives these answers, and what that
// was invoked with.
func operate(answers ...string) (*operator, *[]any) {
	var events []any
	function := answering(answers...)
	admin := func(ctx context.Context, event any) (lambdatest.Response, error) {
		events = append(events, event)
		return function(ctx, event)
	}
	return &operator{admin: admin, say: func(string, ...any) {}}, &events
}

func TestOperatorGoesOnInStepsUntilNoneIsLeft(t *testing.T) {
	t.Parallel()
	o, events := operate(answered(25, 0), answered(25, 10), answered(15, 10), answered(5, 5))

	ids, err := o.change(t.Context(), "redrive", adminEvent{"all": true})

	require.NoError(t, err)
	require.Len(t, ids, 25)
	require.Equal(t, []string{"1 of 25", "10 of 15", "5 of 5"}, []string{ids[0], ids[19], ids[24]})
	step := adminEvent{"action": "redrive", "all": true, "limit": 10}
	dry := adminEvent{"action": "redrive", "all": true, "limit": 10, "dry_run": true}
	require.Equal(t, []any{dry, step, step, step}, *events)
}

func TestOperatorChangesNothingWhereNothingIsMatched(t *testing.T) {
	t.Parallel()
	o, events := operate(answered(0, 0))

	ids, err := o.change(t.Context(), "discard", adminEvent{"error_code": tooLargeCode})

	require.NoError(t, err)
	require.Empty(t, ids)
	require.Len(t, *events, 1)
}

func TestOperatorHoldsAdminToItsNumbers(t *testing.T) {
	t.Parallel()
	for says, answers := range map[string][]string{
		"admin, redrive: TestError":                                   {},
		"a dry run changed 1 events":                                  {answered(1, 1)},
		"with 5 events left it matched 4, changed 4 and listed 4":     {answered(5, 0), answered(4, 4)},
		"with 5 events left it matched 5, changed 0 and listed 0":     {answered(5, 0), answered(5, 0)},
		"with 15 events left it matched 15, changed 15 and listed 15": {answered(15, 0), answered(15, 15)},
		"with 5 events left it matched 15, changed 5 and listed 5":    {answered(15, 0), answered(15, 10), answered(15, 5)},
		"with 1 events left it matched 1, changed 1 and listed 0":     {answered(1, 0), `{"matched":1,"changed":1,"events":[]}`},
		"admin, redrive: TestError: no more answers":                  {answered(15, 0), answered(15, 10)},
	} {
		o, _ := operate(answers...)
		_, err := o.change(t.Context(), "redrive", adminEvent{"all": true})
		require.ErrorContains(t, err, says)
	}
}

func TestOperatorSeesThatABusWasSwitched(t *testing.T) {
	t.Parallel()
	o, events := operate(`{"changed":1}`, `{"changed":1}`, `{"changed":0}`)

	require.NoError(t, o.pause(t.Context(), ordersBus))
	require.NoError(t, o.resume(t.Context(), ordersBus))
	require.Equal(t, []any{
		adminEvent{"action": "pause", "topic": "orders", "reason": "to show that it can be"},
		adminEvent{"action": "resume", "topic": "orders"},
	}, *events)
	require.EqualError(t, o.pause(t.Context(), ordersBus), "admin, pause of bus orders: it changed 0 buses")
	require.ErrorContains(t, o.resume(t.Context(), ordersBus), "admin, resume of bus orders: TestError")
}

func TestOperatorHoldsTheStatusAgainstTheTables(t *testing.T) {
	t.Parallel()
	o, _ := operate(`{"unpublished":0,"failed":7}`, `{"unpublished":0,"failed":6}`, `{"unpublished":1,"failed":7}`)

	require.NoError(t, o.expect(t.Context(), 7))
	require.ErrorContains(t, o.expect(t.Context(), 7), "0 unpublished and 6 failed events, where there are 0 and 7")
	require.ErrorContains(t, o.expect(t.Context(), 7), "1 unpublished and 7 failed events")
	require.ErrorContains(t, o.expect(t.Context(), 7), "admin, status: TestError")
}
