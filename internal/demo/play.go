package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"outboxrelay/internal/lambdatest"
)

const (
	// drainLimit is how long the relay may take for what is left when the
	// producers have stopped.
	drainLimit = 30 * time.Second
	// drainLook is how often the outbox is asked whether it is empty.
	drainLook = 100 * time.Millisecond
)

// play is one run of the demo on its stage.
type play struct {
	stage     *stage
	progress  *progress
	acts      []act
	ledger    *ledger
	producers *producers
	schedule  *schedule
	director  *director
	backlog   *backlog
}

func newPlay(s *stage, progress *progress, acts []act) *play {
	ledger := &ledger{}
	invoke := func(ctx context.Context) (lambdatest.Response, error) {
		return s.function.Invoke(ctx, struct{}{})
	}
	return &play{
		stage:     s,
		progress:  progress,
		acts:      acts,
		ledger:    ledger,
		producers: &producers{url: s.producers.URL, ledger: ledger},
		schedule:  &schedule{invoke: invoke, every: relayEvery},
		director:  &director{bus: s.bus, kill: s.function.Kill, say: progress.say},
		backlog:   &backlog{url: s.lag.URL},
	}
}

// run returns when the outbox is drained or the time for that is over, and
// nothing is under way anymore.
func (p *play) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, p.backlog.close(ctx)) }()
	group, ctx := errgroup.WithContext(ctx)
	over := make(chan struct{})
	group.Go(func() error { return p.schedule.run(ctx, over) })
	group.Go(func() error { return p.progress.follow(ctx, over, p.counts) })
	group.Go(func() error {
		defer close(over)
		if err := p.produce(ctx); err != nil {
			return err
		}
		return p.drain(ctx)
	})
	return group.Wait()
}

// produce has the producers write for as long as the script lasts.
func (p *play) produce(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	over := make(chan struct{})
	group.Go(func() error { return p.producers.run(ctx, over) })
	group.Go(func() error {
		defer close(over)
		return p.director.play(ctx, p.acts)
	})
	return group.Wait()
}

// drain waits until nothing is pending. What then still is, the verdict tells.
func (p *play) drain(ctx context.Context) error {
	p.progress.say("the producers have stopped; draining")
	limit, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	for {
		pending, err := p.backlog.read(ctx)
		if err != nil || pending == 0 {
			return err
		}
		if wait(limit, drainLook) != nil {
			return ctx.Err()
		}
	}
}

// counts is what progress shows.
func (p *play) counts(ctx context.Context) (counts, error) {
	pending, err := p.backlog.read(ctx)
	return counts{
		committed: p.ledger.committedSoFar(),
		delivered: len(p.stage.bus.AcceptedIDs()),
		backlog:   pending,
	}, err
}
