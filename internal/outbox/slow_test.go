package outbox_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"outboxrelay/internal/outbox"
)

// dice are thrown by many at once.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{random: rand.New(rand.NewPCG(seed, 0))} }

func (d *dice) float() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.Float64()
}

// hit reports whether a call is one of the given share.
func (d *dice) hit(share float64) bool { return share > 0 && d.float() < share }

// upTo is a time up to the given one, evenly.
func (d *dice) upTo(most time.Duration) time.Duration {
	return time.Duration(d.float() * float64(most))
}

// between is a time of any magnitude between two.
func (d *dice) between(least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), d.float()))
}

func (d *dice) int(n int) int { return min(n-1, int(d.float()*float64(n))) }

// pick is one of several.
func pick[T any](d *dice, of ...T) T { return of[d.int(len(of))] }

// spell is how the calls of a kind go.
type spell struct {
	dice  *dice
	lag   func() time.Duration
	hangs float64 // share that is not answered before its context ends
	fails float64 // share that fails at once
}

func (s *spell) length() time.Duration {
	if s.lag == nil {
		return 0
	}
	return s.lag()
}

// begin is the way to the other side.
func (s *spell) begin(ctx context.Context, length time.Duration) error {
	switch {
	case s.dice.hit(s.fails):
		return errConnection
	case s.dice.hit(s.hangs):
		<-ctx.Done()
	}
	return pass(ctx, length)
}

// pass takes time, as far as the caller has any.
func pass(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
	}
	if length == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(length):
		return nil
	}
}

// slowStore is a store that is far away, over a network that fails.
type slowStore struct {
	*fakeStore

	connecting, claiming, settling, recording, closing spell

	connectLimit time.Duration // the store's own
	killed       float64       // share of claims whose session ends while the batch is published
	linger       time.Duration // locks of a session that was lost stay for so long

	underWay atomic.Int64
}

type slowSession struct {
	*fakeSession

	slow *slowStore
	dead bool // the other side has ended it
	lost bool // a call has failed
}

func (s *slowStore) enter() func() {
	s.underWay.Add(1)
	return func() { s.underWay.Add(-1) }
}

func (s *slowStore) Connect(ctx context.Context) (outbox.Session, error) {
	defer s.enter()()
	ctx, cancel := context.WithTimeout(ctx, s.connectLimit)
	defer cancel()
	if err := s.connecting.begin(ctx, s.connecting.length()); err != nil {
		return nil, err
	}
	session, err := s.fakeStore.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &slowSession{fakeSession: session.(*fakeSession), slow: s}, nil
}

// call is a call to the store of which the answer may be lost.
func (s *slowSession) call(ctx context.Context, of *spell, act func() error) error {
	defer s.slow.enter()()
	length := of.length()
	err := of.begin(ctx, length/2)
	if err == nil && s.isDead() {
		err = errConnection
	}
	if err == nil {
		err = act()
	}
	if err == nil {
		err = pass(ctx, length-length/2)
	}
	s.slow.do(func() {
		s.lost = s.lost || err != nil
		s.broken = s.lost
	})
	return err
}

func (s *slowSession) isDead() (dead bool) {
	s.slow.do(func() { dead = s.dead })
	return dead
}

func (s *slowSession) Claim(ctx context.Context, claim outbox.Claim) (batch outbox.Batch, err error) {
	err = s.call(ctx, &s.slow.claiming, func() (err error) {
		batch, err = s.fakeSession.Claim(ctx, claim)
		return err
	})
	if err != nil {
		return outbox.Batch{}, err
	}
	s.mayBeKilled(batch)
	return batch, nil
}

func (s *slowSession) Settle(ctx context.Context, settlement outbox.Settlement, next *outbox.Claim) (batch outbox.Batch, receipt outbox.Receipt, err error) {
	err = s.call(ctx, &s.slow.settling, func() (err error) {
		batch, receipt, err = s.fakeSession.Settle(ctx, settlement, next)
		return err
	})
	if err != nil {
		return outbox.Batch{}, outbox.Receipt{}, err
	}
	s.mayBeKilled(batch)
	return batch, receipt, nil
}

func (s *slowSession) Record(ctx context.Context, settlement outbox.Settlement) error {
	return s.call(ctx, &s.slow.recording, func() error { return s.fakeSession.Record(ctx, settlement) })
}

// mayBeKilled has the other side end the session at some time.
func (s *slowSession) mayBeKilled(batch outbox.Batch) {
	if len(batch.Events) > 0 && s.slow.closing.dice.hit(s.slow.killed) {
		time.AfterFunc(s.slow.closing.dice.upTo(10*time.Second), func() {
			s.slow.do(func() {
				s.dead = true
				s.release(s.slow.fakeStore)
			})
		})
	}
}

func (s *slowSession) Close(ctx context.Context) {
	defer s.slow.enter()()
	_ = s.slow.closing.begin(ctx, s.slow.closing.length())
	if !s.lost || s.slow.linger == 0 {
		s.fakeSession.Close(ctx)
		return
	}
	s.slow.do(func() { s.slow.open-- })
	time.AfterFunc(s.slow.linger, func() { s.slow.do(func() { s.release(s.slow.fakeStore) }) })
}

// slowBus is a bus that is far away. It keeps what it has told the relay apart
// from what it has accepted.
type slowBus struct {
	*fakePublisher

	limit             time.Duration // for one call
	sending, checking spell
	underWay          atomic.Int64

	keeping sync.Mutex
	told    []int64       // accepted, and the relay knows
	untold  map[int64]int // times accepted without an answer
}

func newSlowBus() *slowBus {
	return &slowBus{fakePublisher: newPublisher(), untold: map[int64]int{}}
}

func (b *slowBus) enter() func() {
	b.underWay.Add(1)
	return func() { b.underWay.Add(-1) }
}

func (b *slowBus) CheckBus(ctx context.Context, bus string) error {
	defer b.enter()()
	ctx, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	if b.checking.begin(ctx, b.checking.length()) != nil {
		return unavailable()
	}
	return b.fakePublisher.CheckBus(ctx, bus)
}

func (b *slowBus) Send(ctx context.Context, request outbox.Request) ([]outbox.Outcome, error) {
	defer b.enter()()
	ctx, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	length := b.sending.length()
	if b.sending.begin(ctx, length/2) != nil {
		return nil, unavailable()
	}
	outcomes, err := b.fakePublisher.Send(ctx, request)
	if pass(ctx, length-length/2) != nil {
		b.keep(outcomes, false)
		return nil, unavailable()
	}
	b.keep(outcomes, true)
	return outcomes, err
}

func (b *slowBus) keep(outcomes []outbox.Outcome, told bool) {
	b.keeping.Lock()
	defer b.keeping.Unlock()
	for _, outcome := range outcomes {
		switch {
		case outcome.Verdict != outbox.Accepted:
		case told:
			b.told = append(b.told, outcome.Event.Seq)
		default:
			b.untold[outcome.Event.Seq]++
		}
	}
}

// sentAgain lists the events that were accepted more often than the answers that
// were lost explain.
func (b *slowBus) sentAgain() (seqs []int64) {
	for seq, times := range b.accepted {
		if times > 1+b.untold[seq] {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return seqs
}

// unrecorded lists the events that the relay knows to be accepted and the store
// does not.
func (b *slowBus) unrecorded(store *fakeStore) (seqs []int64) {
	published := store.published()
	for _, seq := range b.told {
		if _, ok := slices.BinarySearch(published, seq); !ok {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return seqs
}
