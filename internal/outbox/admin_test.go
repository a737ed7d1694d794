package outbox_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// fakeAdmin is a store and its session. What a test does not expect to be called
// is nil; Find then takes as long as it may.
type fakeAdmin struct {
	find     func(toChange bool) (outbox.Found, error)
	redrive  func(seqs []int64) ([]int64, error)
	discard  func(seqs []int64) ([]int64, error)
	pause    func(bus, reason string) (outbox.AdminResult, error)
	resume   func(bus string) (bool, []outbox.PausedBus, error)
	overview func() ([]outbox.PausedBus, []outbox.FailedBy, error)

	connected, closed int
}

func (f *fakeAdmin) Connect(context.Context) (outbox.AdminSession, error) {
	f.connected++
	return f, nil
}

func (f *fakeAdmin) Find(ctx context.Context, _ outbox.Selection, toChange bool) (outbox.Found, error) {
	if f.find == nil {
		<-ctx.Done()
		return outbox.Found{}, context.Cause(ctx)
	}
	return f.find(toChange)
}

func (f *fakeAdmin) Redrive(_ context.Context, seqs []int64) ([]int64, error) { return f.redrive(seqs) }

func (f *fakeAdmin) Discard(_ context.Context, seqs []int64) ([]int64, error) { return f.discard(seqs) }

func (f *fakeAdmin) Pause(_ context.Context, bus, reason string) (outbox.AdminResult, error) {
	return f.pause(bus, reason)
}

func (f *fakeAdmin) Resume(_ context.Context, bus string) (bool, []outbox.PausedBus, error) {
	return f.resume(bus)
}

func (f *fakeAdmin) Overview(context.Context) ([]outbox.PausedBus, []outbox.FailedBy, error) {
	return f.overview()
}

func (f *fakeAdmin) Close(ctx context.Context) {
	if ctx.Err() != nil {
		panic("a session cannot be closed in no time")
	}
	f.closed++
}

// fakeLag is a store to measure.
type fakeLag func() (outbox.Measurement, error)

func (f fakeLag) Measure(context.Context, outbox.LagScan) (outbox.Measurement, error) { return f() }

var everyFailed = outbox.Selection{All: true, Limit: 100}

func failedEvents(seqs ...int64) []outbox.FailedEvent {
	events := make([]outbox.FailedEvent, len(seqs))
	for i, seq := range seqs {
		events[i].Seq = seq
	}
	return events
}

func TestASelectionSaysAllThatIsWrongWithIt(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		selection outbox.Selection
		says      []string
	}{
		"NoFilter":       {outbox.Selection{Limit: 1}, []string{"no events are selected: give at least one of ids, event_type, error_code, failed_before"}},
		"AllAndAFilter":  {outbox.Selection{All: true, EventType: "a", Limit: 1}, []string{"all is true beside a filter"}},
		"AllAndIDs":      {outbox.Selection{All: true, IDs: []string{"a"}, Limit: 1}, []string{"all is true beside a filter"}},
		"AllAndATime":    {outbox.Selection{All: true, FailedBefore: time.Now(), Limit: 1}, []string{"all is true beside a filter"}},
		"AllAndACode":    {outbox.Selection{All: true, ErrorCode: "a", Limit: 1}, []string{"all is true beside a filter"}},
		"NoLimit":        {outbox.Selection{All: true}, []string{"limit is 0: expected a whole number from 1 to 1000"}},
		"ANegativeLimit": {outbox.Selection{All: true, Limit: -1}, []string{"limit is -1"}},
		"TooHighALimit":  {outbox.Selection{All: true, Limit: 1001}, []string{"limit is 1001"}},
		"TooManyIDs":     {outbox.Selection{IDs: make([]string, 1001), Limit: 1}, []string{"ids has 1001: expected at most 1000"}},
		"Everything":     {outbox.Selection{}, []string{"no events are selected", "; limit is 0"}},
	} {
		store := &fakeAdmin{}
		for _, act := range []func(*outbox.Admin, context.Context, outbox.Selection) (outbox.AdminResult, error){
			(*outbox.Admin).List, (*outbox.Admin).Redrive, (*outbox.Admin).Discard,
		} {
			_, err := act(outbox.NewAdmin(store, nil), t.Context(), test.selection)
			for _, says := range test.says {
				require.ErrorContains(t, err, says, name)
			}
		}
		require.Zero(t, store.connected, name)
	}
}

func TestTheDefaultLimitCoversTheEventsThatAreNamed(t *testing.T) {
	t.Parallel()

	for ids, limit := range map[int]int{0: 100, 1: 100, 100: 100, 101: 101, 1000: 1000, 5000: 1000} {
		require.Equal(t, limit, outbox.DefaultLimit(ids))
	}
}

func TestAListLocksAndChangesNothing(t *testing.T) {
	t.Parallel()

	store := &fakeAdmin{find: func(toChange bool) (outbox.Found, error) {
		require.False(t, toChange)
		return outbox.Found{Events: failedEvents(1, 2), Matched: 7}, nil
	}}

	result, err := outbox.NewAdmin(store, nil).List(t.Context(), everyFailed)

	require.NoError(t, err)
	require.Equal(t, outbox.AdminResult{Matched: 7, Events: failedEvents(1, 2)}, result)
	require.Equal(t, 1, store.closed)
}

func TestAChangeReportsWhatHasChanged(t *testing.T) {
	t.Parallel()

	change := func(seqs []int64) ([]int64, error) {
		require.Equal(t, []int64{1, 2, 3}, seqs)
		return []int64{3, 1}, nil
	}
	store := &fakeAdmin{redrive: change, discard: change, find: func(toChange bool) (outbox.Found, error) {
		require.True(t, toChange)
		return outbox.Found{Events: failedEvents(1, 2, 3), Matched: 7}, nil
	}}
	admin := outbox.NewAdmin(store, nil)
	want := outbox.AdminResult{Matched: 7, Changed: 2, Events: failedEvents(1, 3), Kept: []int64{2}}

	result, err := admin.Redrive(t.Context(), everyFailed)
	require.NoError(t, err)
	require.Equal(t, want, result)
	result, err = admin.Discard(t.Context(), everyFailed)
	require.NoError(t, err)
	require.Equal(t, want, result)
	require.Equal(t, 2, store.closed)
}

func TestNothingIsChangedWhereNothingIsFound(t *testing.T) {
	t.Parallel()

	store := &fakeAdmin{find: func(bool) (outbox.Found, error) { return outbox.Found{}, nil }}

	result, err := outbox.NewAdmin(store, nil).Redrive(t.Context(), everyFailed)

	require.NoError(t, err)
	require.Zero(t, result)
	require.Equal(t, 1, store.closed)
}

func TestNothingIsChangedWhereAnIDIsMissing(t *testing.T) {
	t.Parallel()

	store := &fakeAdmin{find: func(bool) (outbox.Found, error) {
		return outbox.Found{Events: failedEvents(1), Matched: 1, Missing: strings.Split("a b c d e f g h i j k l", " ")}, nil
	}}

	result, err := outbox.NewAdmin(store, nil).Discard(t.Context(), everyFailed)

	require.ErrorContains(t, err, "not in the failed table: a, b, c, d, e, f, g, h, i, j and 2 more; ")
	require.Zero(t, result)
	require.Equal(t, 1, store.closed)
}

func TestAChangeThatFailedReportsNone(t *testing.T) {
	t.Parallel()

	broken := errors.New("broken")
	store := &fakeAdmin{
		find:    func(bool) (outbox.Found, error) { return outbox.Found{Events: failedEvents(1), Matched: 1}, nil },
		redrive: func([]int64) ([]int64, error) { return []int64{1}, broken },
	}

	result, err := outbox.NewAdmin(store, nil).Redrive(t.Context(), everyFailed)

	require.ErrorIs(t, err, broken)
	require.Zero(t, result)
	require.Equal(t, 1, store.closed)
}

// Time is left for ending the session and for the answer.
func TestAnActionEndsBeforeItsDeadline(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		store, began := &fakeAdmin{}, time.Now()

		_, err := outbox.NewAdmin(store, nil).List(ctx, everyFailed)

		require.ErrorContains(t, err, "give it a longer timeout")
		require.Equal(t, 9*time.Second, time.Since(began))
		require.Equal(t, 1, store.closed)
	})
}

func TestAnActionWithoutTimeReachesNothing(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	store := &fakeAdmin{}

	_, err := outbox.NewAdmin(store, nil).List(ctx, everyFailed)

	require.EqualError(t, err, "the function's time is used up: give it a longer timeout")
	require.Zero(t, store.connected)
}

func TestStatusPutsTheLagBesideThePausesAndCodes(t *testing.T) {
	t.Parallel()

	paused := []outbox.PausedBus{{Bus: "orders", Reason: "why", Since: time.Unix(1, 0)}}
	failedBy := []outbox.FailedBy{{ErrorCode: "TooLarge", Count: 3}}
	store := &fakeAdmin{overview: func() ([]outbox.PausedBus, []outbox.FailedBy, error) { return paused, failedBy, nil }}
	lag := outbox.Lag{Unpublished: 7, Failed: 3}
	probe := outbox.NewLagProbe(fakeLag(func() (outbox.Measurement, error) { return outbox.Measurement{Lag: lag}, nil }), slog.New(slog.DiscardHandler))

	status, err := outbox.NewAdmin(store, probe).Status(t.Context())

	require.NoError(t, err)
	require.Equal(t, outbox.Status{Lag: lag, Paused: paused, FailedBy: failedBy}, status)
	require.Equal(t, 1, store.closed)
}

// That is when an operator needs to know what is paused.
func TestStatusTellsWhatIsKnownWhereTheLagIsNot(t *testing.T) {
	t.Parallel()

	paused := []outbox.PausedBus{{Bus: "orders"}}
	store := &fakeAdmin{overview: func() ([]outbox.PausedBus, []outbox.FailedBy, error) { return paused, nil, nil }}
	broken := errors.New("broken")
	probe := outbox.NewLagProbe(fakeLag(func() (outbox.Measurement, error) { return outbox.Measurement{}, broken }), slog.New(slog.DiscardHandler))

	status, err := outbox.NewAdmin(store, probe).Status(t.Context())

	require.NoError(t, err)
	require.ErrorIs(t, status.LagError, broken)
	status.LagError = nil
	require.Equal(t, outbox.Status{Paused: paused}, status)
}

func TestThereIsNoStatusWithoutThePauses(t *testing.T) {
	t.Parallel()

	broken := errors.New("broken")
	store := &fakeAdmin{overview: func() ([]outbox.PausedBus, []outbox.FailedBy, error) { return nil, nil, broken }}

	status, err := outbox.NewAdmin(store, nil).Status(t.Context())

	require.ErrorIs(t, err, broken)
	require.Zero(t, status)
}
