package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"outboxrelay/internal/lambdatest"
)

// lagStale is how old a measurement may be to tell of the moment.
const lagStale = 3 * lagEvery

// lagAnswer is what the function lag answers, as far as it is of interest here.
// An age that is missing is not 0.
type lagAnswer struct {
	Oldest      *float64 `json:"oldest_unpublished_age_seconds"`
	Unpublished int      `json:"unpublished"`
	Failed      int      `json:"failed"`
	Paused      int      `json:"paused"`
}

// lag is a measurement.
type lag struct {
	begun  time.Time
	oldest time.Duration // how long the oldest event waits

	unpublished, failed, paused int // events
}

// gauge measures by the function lag, and keeps what was measured.
type gauge struct {
	function invoke
	say      say

	mu    sync.Mutex
	lags  []lag
	blind bool // the last measurement failed
}

// measure is for a schedule. An answer without an age is an error.
func (g *gauge) measure(ctx context.Context) (lambdatest.Response, error) {
	begun := time.Now()
	response, err := g.function(ctx, struct{}{})
	answer, err := read[lagAnswer](response, err)
	if err == nil && answer.Oldest == nil {
		err = errors.New("the function lag answered without an age")
	}
	if ctx.Err() == nil {
		g.note(begun, answer, err)
	}
	return response, err
}

func (g *gauge) note(begun time.Time, answer lagAnswer, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.blind = err != nil
	if g.blind {
		g.say("the lag could not be measured: %v", err)
		return
	}
	g.lags = append(g.lags, lag{
		begun:       begun,
		oldest:      time.Duration(math.Round(*answer.Oldest * float64(time.Second))),
		unpublished: answer.Unpublished,
		failed:      answer.Failed,
		paused:      answer.Paused,
	})
}

// now is the lag of the moment; false: it is not known.
func (g *gauge) now(at time.Time) (lag, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.blind || len(g.lags) == 0 {
		return lag{}, false
	}
	last := g.lags[len(g.lags)-1]
	return last, at.Sub(last.begun) <= lagStale
}

// all lists what was measured, in order.
func (g *gauge) all() []lag {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.lags)
}
