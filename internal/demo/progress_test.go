package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// progressAt is 1.5 s after its beginning.
func progressAt(out *strings.Builder, live bool) *progress {
	return &progress{out: out, live: live, began: noon, now: func() time.Time { return noon.Add(1500 * time.Millisecond) }}
}

func TestProgressRewritesItsLineOnATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := progressAt(&out, true)

	p.say("the bus %s", "throttles")
	p.show(counts{committed: 3, delivered: 2, backlog: 1, lagKnown: true})
	p.show(counts{committed: 4, delivered: 3, backlog: 1, deleted: 2, lag: 1300 * time.Millisecond, lagKnown: true})
	p.say("recovering")
	p.end()

	require.Equal(t, "  1.5s  > the bus throttles\n"+
		"  1.5s  committed    3  delivered    2  backlog    1  lag  0.0s  deleted    0  "+eraseLine+
		"  1.5s  committed    4  delivered    3  backlog    1  lag  1.3s  deleted    2  "+eraseLine+
		"  1.5s  > recovering\n", out.String())
}

func TestProgressKeepsItsLineWithinATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := progressAt(&out, true)
	p.doing = strings.Repeat("ü", 100)

	p.show(counts{})

	require.Len(t, []rune(out.String()), liveWidth)
}

func TestProgressWritesPlainLinesElsewhere(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := progressAt(&out, false)

	p.show(counts{committed: 3})
	p.end()

	require.Equal(t, "  1.5s  committed    3  delivered    0  backlog    0  lag     ?  deleted    0  \n", out.String())
}

func TestANoteIsNotWhatGoesOn(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := progressAt(&out, false)

	p.say("recovering")
	p.note("%d words", 2)
	p.show(counts{})

	require.Equal(t, "  1.5s  > recovering\n  1.5s  > 2 words\n"+
		"  1.5s  committed    0  delivered    0  backlog    0  lag     ?  deleted    0  recovering\n", out.String())
}

func TestProgressSamplesEveryTwoSecondsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := newProgress(&out)
		stop, samples := make(chan struct{}), 0
		sample := func(context.Context) (counts, error) {
			samples++
			if samples == 3 {
				close(stop)
			}
			return counts{committed: samples}, nil
		}

		require.NoError(t, p.follow(t.Context(), stop, sample))

		require.Equal(t, "  2.0s  committed    1  delivered    0  backlog    0  lag     ?  deleted    0  \n"+
			"  4.0s  committed    2  delivered    0  backlog    0  lag     ?  deleted    0  \n"+
			"  6.0s  committed    3  delivered    0  backlog    0  lag     ?  deleted    0  \n", out.String())
	})
}

func TestProgressEndsWhenItCannotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("count the backlog: refused")
		sample := func(context.Context) (counts, error) { return counts{}, broken }
		p := newProgress(&strings.Builder{})
		require.ErrorIs(t, p.follow(t.Context(), nil, sample), broken)
	})
}

func TestAFileIsNoTerminal(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	require.False(t, isTerminal(file))
	require.False(t, isTerminal(&strings.Builder{}))
}
