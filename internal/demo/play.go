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
	backlog   *backlog
	director  *director
	operator  *operator
	repair    repair

	gauge *gauge
	tally *tally

	relay, lag, cleanup *schedule
}

func newPlay(s *stage, progress *progress, acts []act) *play {
	ledger := &ledger{}
	relay := s.functions["relay"]
	gauge := &gauge{function: s.functions["lag"].Invoke, say: progress.note}
	tally := &tally{function: s.functions["cleanup"].Invoke}
	operator := &operator{admin: s.functions["admin"].Invoke, say: progress.say}
	run := func(ctx context.Context) (lambdatest.Response, error) { return relay.Invoke(ctx, struct{}{}) }
	return &play{
		stage:     s,
		progress:  progress,
		acts:      acts,
		ledger:    ledger,
		producers: &producers{url: s.logins["writer"].URL, ledger: ledger},
		backlog:   &backlog{url: s.logins["lag"].URL},
		director:  &director{bus: s.bus, operator: operator, lags: gauge.all, kill: relay.Kill, say: progress.say},
		operator:  operator,
		gauge:     gauge,
		tally:     tally,
		relay:     &schedule{invoke: run, every: relayEvery},
		lag:       &schedule{invoke: gauge.measure, every: lagEvery},
		cleanup:   &schedule{invoke: tally.clean, every: cleanupEvery},
	}
}

// run returns when the outbox is drained, what failed is mended and drained too,
// or the time for that is over, and nothing is under way anymore.
func (p *play) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, p.backlog.close(ctx)) }()
	group, ctx := errgroup.WithContext(ctx)
	over := make(chan struct{})
	for _, schedule := range []*schedule{p.relay, p.lag, p.cleanup} {
		group.Go(func() error { return schedule.run(ctx, over) })
	}
	group.Go(func() error { return p.progress.follow(ctx, over, p.counts) })
	group.Go(func() error {
		defer close(over)
		return p.perform(ctx)
	})
	return group.Wait()
}

func (p *play) perform(ctx context.Context) error {
	if err := p.produce(ctx); err != nil {
		return err
	}
	p.progress.say("the producers have stopped; draining")
	if drained, err := p.drain(ctx); err != nil || !drained {
		return err
	}
	if err := p.mend(ctx); err != nil {
		return err
	}
	if _, err := p.drain(ctx); err != nil {
		return err
	}
	// Without effect it is the verdict that says so.
	_, err := until(ctx, func() bool { return p.tally.deleted() > 0 })
	return err
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

// drain waits until nothing is pending. What still is when its time is over, the
// verdict tells.
func (p *play) drain(ctx context.Context) (drained bool, err error) {
	limit, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	for {
		pending, err := p.backlog.read(ctx)
		if err != nil || pending == 0 {
			return err == nil, err
		}
		if wait(limit, drainLook) != nil {
			return false, ctx.Err()
		}
	}
}

// counts is what progress shows.
func (p *play) counts(ctx context.Context) (counts, error) {
	pending, err := p.backlog.read(ctx)
	lag, known := p.gauge.now(time.Now())
	return counts{
		committed: p.ledger.committedSoFar(),
		delivered: len(p.stage.bus.AcceptedIDs()),
		backlog:   pending,
		deleted:   p.tally.deleted(),
		lag:       lag.oldest,
		lagKnown:  known,
	}, err
}
