package outbox_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// row is an event in the fake store.
type row struct {
	outbox.Event
	locked    *fakeSession
	claimed   int // times that it was locked
	retryAt   time.Time
	reason    string
	published bool
	failed    *outbox.Failure
}

// fakeStore keeps rows in memory and locks them as a database does.
type fakeStore struct {
	// Hooks; nil: all goes well.
	connect func(attempt int) error
	claim   func(claim outbox.Claim) error
	claimBy func(session int) error                  // the number of the session, from 1
	settle  func(settlement outbox.Settlement) error // committed if nil
	record  func(settlement outbox.Settlement) error
	// unreadable rows make a claim fail that wants their text.
	unreadable func(seq int64) bool
	drops      func(seq int64) bool // an update that is accepted and has no effect
	wait       func()               // before each answer

	mu       sync.Mutex
	rows     []*row
	connects int
	open     int
	mostOpen int
	turn     int64 // the number that a run has taken last
	claims   []outbox.Claim
	longest  time.Duration // from a claim to its settling
}

func newStore(events ...outbox.Event) *fakeStore {
	s := &fakeStore{}
	s.insert(events...)
	return s
}

// events makes n events for a bus, with seq from first on.
func events(n int, first int64, bus string) []outbox.Event {
	made := make([]outbox.Event, n)
	for i := range made {
		seq := first + int64(i)
		made[i] = outbox.Event{Seq: seq, ID: fmt.Sprint("id-", seq), Type: "t", Payload: "{}", Bus: bus, TextBytes: 2}
	}
	return made
}

// largeEvents makes events of which four fit into a batch.
func largeEvents(n int) []outbox.Event {
	made := events(n, 1, "b")
	for i := range made {
		made[i].TextBytes = 900_000
	}
	return made
}

func (s *fakeStore) insert(events ...outbox.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range events {
		s.rows = append(s.rows, &row{Event: event})
	}
	slices.SortFunc(s.rows, func(a, b *row) int { return cmp.Compare(a.Seq, b.Seq) })
}

// do changes something while relays are at work.
func (s *fakeStore) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// seqs lists the rows that fulfil a condition.
func (s *fakeStore) seqs(is func(*row) bool) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var seqs []int64
	for _, row := range s.rows {
		if is(row) {
			seqs = append(seqs, row.Seq)
		}
	}
	return seqs
}

func (s *fakeStore) published() []int64 { return s.seqs(func(r *row) bool { return r.published }) }
func (s *fakeStore) failed() []int64    { return s.seqs(func(r *row) bool { return r.failed != nil }) }

func (s *fakeStore) pending() []int64 {
	return s.seqs(func(r *row) bool { return !r.published && r.failed == nil })
}
func (s *fakeStore) locked() []int64 { return s.seqs(func(r *row) bool { return r.locked != nil }) }

func (s *fakeStore) row(seq int64) row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.find(seq)
}

// find returns a row that is there, with mu held.
func (s *fakeStore) find(seq int64) *row {
	i, _ := slices.BinarySearchFunc(s.rows, seq, func(r *row, seq int64) int { return cmp.Compare(r.Seq, seq) })
	return s.rows[i]
}

func (s *fakeStore) Connect(context.Context) (outbox.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connects++
	if s.connect != nil {
		if err := s.connect(s.connects); err != nil {
			return nil, err
		}
	}
	s.open++
	s.mostOpen = max(s.mostOpen, s.open)
	return &fakeSession{store: s, number: s.connects}, nil
}

type fakeSession struct {
	store   *fakeStore
	number  int
	broken  bool
	ended   bool      // by the server
	claimed time.Time // when it last locked rows
}

func (f *fakeSession) begin() (*fakeStore, func()) {
	if f.store.wait != nil {
		f.store.wait()
	}
	f.store.mu.Lock()
	if f.broken {
		panic("a session was used after an error")
	}
	return f.store, f.store.mu.Unlock
}

// endSessions does what the end of a backend does to the sessions that have rows locked:
// these are free at once, and the session is told at its next statement.
func (s *fakeStore) endSessions() {
	s.do(func() {
		for _, row := range s.rows {
			if row.locked != nil {
				row.locked.ended, row.locked = true, nil
			}
		}
	})
}

func (f *fakeSession) fail(err error) error {
	f.broken = err != nil
	return err
}

func (f *fakeSession) Claim(_ context.Context, claim outbox.Claim) (outbox.Batch, error) {
	s, unlock := f.begin()
	defer unlock()
	return f.claim(s, claim)
}

func (f *fakeSession) claim(s *fakeStore, claim outbox.Claim) (outbox.Batch, error) {
	s.claims = append(s.claims, claim)
	if s.claimBy != nil {
		if err := s.claimBy(f.number); err != nil {
			return outbox.Batch{}, f.fail(err)
		}
	}
	if s.claim != nil {
		if err := s.claim(claim); err != nil {
			return outbox.Batch{}, f.fail(err)
		}
	}
	var batch outbox.Batch
	bytes := 0
	f.claimed = time.Now()
	for _, row := range s.rows {
		if batch.Locked == claim.Rows {
			break
		}
		if !row.due(claim) {
			continue
		}
		row.locked = f
		row.claimed++
		batch.Locked++
		if s.unreadable != nil && s.unreadable(row.Seq) && claim.EventBytes > 0 {
			f.release(s)
			return outbox.Batch{}, f.fail(fmt.Errorf("%w: %w", outbox.ErrRefused, outbox.ErrUnreadable))
		}
		bytes += row.TextBytes
		if bytes <= claim.Bytes || len(batch.Events) == 0 {
			event := row.Event
			event.Oversized = claim.EventBytes == 0
			batch.Events = append(batch.Events, event)
		}
	}
	switch claim.Turn {
	case outbox.TakeTurn:
		s.turn++
		batch.Turn = s.turn
	case outbox.SeeTurn:
		batch.Turn = s.turn
	}
	return batch, nil
}

func (r *row) due(claim outbox.Claim) bool {
	return !r.published && r.failed == nil && r.locked == nil && r.Seq > claim.After &&
		!time.Now().Before(r.retryAt) &&
		!slices.Contains(claim.WithoutBuses, r.Bus) && !slices.Contains(claim.WithoutSeqs, r.Seq)
}

func (f *fakeSession) Settle(_ context.Context, settlement outbox.Settlement, next *outbox.Claim) (outbox.Batch, outbox.Receipt, error) {
	s, unlock := f.begin()
	defer unlock()
	if f.ended {
		return outbox.Batch{}, outbox.Receipt{}, f.fail(errConnection)
	}
	if s.settle != nil {
		if err := s.settle(settlement); err != nil {
			return outbox.Batch{}, outbox.Receipt{}, f.fail(err)
		}
	}
	s.longest = max(s.longest, time.Since(f.claimed))
	receipt := outbox.Receipt{Committed: true, Missing: s.write(settlement)}
	f.release(s)
	if next == nil {
		return outbox.Batch{}, receipt, nil
	}
	batch, err := f.claim(s, *next)
	return batch, receipt, err
}

func (f *fakeSession) Record(_ context.Context, settlement outbox.Settlement) error {
	s, unlock := f.begin()
	defer unlock()
	if s.record != nil {
		if err := s.record(settlement); err != nil {
			return f.fail(err)
		}
	}
	for _, row := range s.rows {
		if row.locked != nil && slices.Contains(settlement.Published, row.Seq) {
			return f.fail(errLocked)
		}
	}
	s.write(settlement)
	return nil
}

func (f *fakeSession) Close(context.Context) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.open--
	f.release(f.store)
}

func (f *fakeSession) release(s *fakeStore) {
	for _, row := range s.rows {
		if row.locked == f {
			row.locked = nil
		}
	}
}

// write records a settlement and returns the rows that it dropped.
func (s *fakeStore) write(settlement outbox.Settlement) (dropped []int64) {
	for _, seq := range settlement.Published {
		if s.drops != nil && s.drops(seq) {
			dropped = append(dropped, seq)
			continue
		}
		s.find(seq).published = true
	}
	for _, d := range settlement.Deferred {
		row := s.find(d.Seq)
		row.retryAt, row.reason = time.Now().Add(d.Delay), d.Reason
		row.Attempts++
	}
	for _, f := range settlement.Failed {
		s.find(f.Seq).failed = &f
	}
	return dropped
}

// fakePublisher packs ten events of a bus into a request and answers as told.
type fakePublisher struct {
	// Hooks; nil: all goes well.
	poison func(event outbox.Event) bool
	check  func(bus string) error
	// checkCtx decides a check that waits.
	checkCtx func(ctx context.Context) error
	// answer decides a request: an error, or the verdict for each entry.
	answer  func(request outbox.Request) error
	verdict func(event outbox.Event) outbox.Outcome
	latency func() time.Duration
	// latencyOf is as latency, and knows the request.
	latencyOf func(request outbox.Request) time.Duration

	mu       sync.Mutex
	requests []outbox.Request
	accepted map[int64]int
	sent     map[int64]int
	inFlight int
	most     int
	lastEnd  time.Time
}

func newPublisher() *fakePublisher {
	return &fakePublisher{accepted: map[int64]int{}, sent: map[int64]int{}}
}

func (p *fakePublisher) Pack(events []outbox.Event) ([]outbox.Request, []outbox.Outcome) {
	var requests []outbox.Request
	var refused []outbox.Outcome
	open := map[string]int{}
	for i := range events {
		event := &events[i]
		if event.Oversized || p.poison != nil && p.poison(*event) {
			refused = append(refused, outbox.Outcome{Event: event, Verdict: outbox.Poison, Code: "MalformedDetail", Message: "no"})
			continue
		}
		at, ok := open[event.Bus]
		if !ok || len(requests[at].Entries) == 10 || event.Alone {
			at = len(requests)
			requests = append(requests, outbox.Request{Bus: event.Bus})
			if !event.Alone {
				open[event.Bus] = at
			}
		}
		requests[at].Entries = append(requests[at].Entries, outbox.Entry{Event: event})
	}
	return requests, refused
}

func (p *fakePublisher) CheckBus(ctx context.Context, bus string) error {
	if p.checkCtx != nil {
		return p.checkCtx(ctx)
	}
	if p.check == nil {
		return nil
	}
	return p.check(bus)
}

func (p *fakePublisher) Send(_ context.Context, request outbox.Request) ([]outbox.Outcome, error) {
	p.mu.Lock()
	p.requests = append(p.requests, request)
	for _, entry := range request.Entries {
		p.sent[entry.Event.Seq]++
	}
	p.inFlight++
	p.most = max(p.most, p.inFlight)
	p.mu.Unlock()
	if p.latency != nil {
		time.Sleep(p.latency())
	}
	if p.latencyOf != nil {
		time.Sleep(p.latencyOf(request))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight--
	p.lastEnd = time.Now()
	if p.answer != nil {
		if err := p.answer(request); err != nil {
			return nil, err
		}
	}
	outcomes := make([]outbox.Outcome, len(request.Entries))
	for i, entry := range request.Entries {
		outcomes[i] = outbox.Outcome{Verdict: outbox.Accepted}
		if p.verdict != nil {
			outcomes[i] = p.verdict(*entry.Event)
		}
		outcomes[i].Event = entry.Event
		if outcomes[i].Verdict == outbox.Accepted {
			p.accepted[entry.Event.Seq]++
		}
	}
	return outcomes, nil
}

// acceptedAgain lists the events that were accepted more than once.
func (p *fakePublisher) acceptedAgain() []int64 {
	var seqs []int64
	for seq, times := range p.accepted {
		if times > 1 {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return seqs
}

// mostSent is how often the event that was sent most often was sent.
func (p *fakePublisher) mostSent() int {
	most := 0
	for _, times := range p.sent {
		most = max(most, times)
	}
	return most
}

func config() outbox.Config {
	return outbox.Config{
		BatchSize: 500, BatchBytes: 4 << 20, EventBytes: 1_000_000,
		Workers: 2, Concurrency: 32,
		SendTimeout: 5 * time.Second, Reserve: 5 * time.Second, FrontScanMax: 5 * time.Second, Parallel: 1,
		RetryBase: time.Second, RetryMax: 5 * time.Minute, MaxAttempts: 50,
	}
}

// drain runs a relay once, for at most the given time.
func drain(t *testing.T, store outbox.Store, publisher outbox.Publisher, config outbox.Config, timeout time.Duration) (outbox.Report, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	report, err := outbox.NewRelay(store, publisher, config, discard).Run(ctx)
	require.NoError(t, ctx.Err(), "the run did not end before its deadline")
	return report, err
}

var (
	errConnection = errors.New("connection reset")
	errLocked     = errors.New("lock timeout")
)

func unavailable() error {
	return &outbox.RequestError{Fault: outbox.Unavailable, Code: "ServiceUnavailable", Message: "try later"}
}

func seqs(from, to int64) []int64 {
	var all []int64
	for seq := from; seq <= to; seq++ {
		all = append(all, seq)
	}
	return all
}

var discard = slog.New(slog.DiscardHandler)
