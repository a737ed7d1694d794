package outbox_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// trial is a run of a relay under a deadline, with a store and a bus.
type trial struct {
	budget time.Duration
	config outbox.Config
	store  *slowStore
	bus    *slowBus
	calm   bool // the store answers all that it is asked, soon
}

// anyTrial is a trial of which the seed decides everything but the order of what
// happens at the same moment.
func anyTrial(seed uint64) *trial {
	d := newDice(seed)
	config := config()
	config.BatchSize = pick(d, 1, 10, 100, 500)
	config.Workers = 1 + d.int(4)
	config.Concurrency = pick(d, 1, 4, 32)
	config.MaxRate = pick(d, 0.0, 0, 0, 1, 50, 1000)
	config.SendTimeout = pick(d, 100*time.Millisecond, time.Second, 5*time.Second, 5*time.Second, 10*time.Second)
	config.Reserve = pick(d, time.Second, 2*time.Second, 5*time.Second, 5*time.Second, 30*time.Second)
	config.PollInterval = pick(d, time.Duration(0), 0, 500*time.Millisecond, 5*time.Second, 30*time.Second)
	config.Parallel = 1 + d.int(2)
	config.MaxAttempts = pick(d, 1, 50)
	t := &trial{budget: d.between(time.Second, 15*time.Minute), config: config, calm: d.hit(0.5)}
	if d.hit(0.2) { // just enough
		t.budget = t.needs() + d.upTo(10*time.Second)
	}
	n := d.int(800)
	t.store = anyStore(d, t.calm, events(n/2, 1, "a"), events(n-n/2, int64(n/2+1), "b"))
	t.bus = anyBus(d, d.hit(0.5), config.SendTimeout)
	return t
}

// anyLag is how long calls take: always the same, at random, or longer each time.
func anyLag(d *dice, most time.Duration) func() time.Duration {
	lag := d.between(most/10_000, most)
	switch d.int(4) {
	case 0:
		return nil
	case 1:
		return func() time.Duration { return lag }
	case 2:
		return func() time.Duration { return d.upTo(lag) }
	default:
		grown := lag / 100
		return func() time.Duration {
			d.mu.Lock()
			defer d.mu.Unlock()
			grown += grown / 20
			return min(grown, most)
		}
	}
}

// rarely is a share of calls; none on a calm day.
func rarely(d *dice, calm bool) float64 {
	if calm {
		return 0
	}
	return pick(d, 0.0, 0, 0, 0, 0, 0, 0, 0, 0.01, 0.1, 0.1, 1)
}

func anyStore(d *dice, calm bool, batches ...[]outbox.Event) *slowStore {
	store := &slowStore{fakeStore: newStore(slices.Concat(batches...)...), connectLimit: 10 * time.Second}
	most := pick(d, 10*time.Millisecond, time.Second, 30*time.Second)
	if calm {
		most = 100 * time.Millisecond
	}
	for _, spell := range []*spell{&store.connecting, &store.claiming, &store.settling, &store.recording, &store.closing} {
		spell.dice, spell.lag, spell.hangs, spell.fails = d, anyLag(d, most), rarely(d, calm), rarely(d, calm)
	}
	store.killed, store.linger = rarely(d, calm), pick(d, time.Duration(0), 0, time.Second, 30*time.Second)
	guarded, dropped := rarely(d, calm)/2, rarely(d, calm)/4
	if dropped > 0 {
		store.drops = func(seq int64) bool { return float64(seq%100) < 100*dropped }
	}
	refuse := func(settlement outbox.Settlement) error {
		for _, seq := range settlement.Seqs() {
			if float64(seq*37%100) < 100*guarded {
				return fmt.Errorf("%w: row %d is guarded", outbox.ErrRefused, seq)
			}
		}
		return nil
	}
	store.settle, store.record = refuse, refuse
	return store
}

func anyBus(d *dice, calm bool, limit time.Duration) *slowBus {
	bus := newSlowBus()
	bus.limit = limit
	most := 10 * limit
	if calm {
		most = limit / 5
	}
	for _, spell := range []*spell{&bus.sending, &bus.checking} {
		spell.dice, spell.lag, spell.hangs = d, anyLag(d, most), rarely(d, calm)
	}
	failing, throttled, refused, poison := rarely(d, calm), rarely(d, calm), rarely(d, calm), rarely(d, calm)
	bus.poison = func(event outbox.Event) bool { return float64(event.Seq%100) < 50*poison }
	bus.answer = func(outbox.Request) error {
		switch {
		case d.hit(failing):
			return unavailable()
		case d.hit(throttled):
			return &outbox.RequestError{Fault: outbox.Throttled, Code: "ThrottlingException"}
		}
		return nil
	}
	bus.verdict = func(outbox.Event) outbox.Outcome {
		if d.hit(refused) {
			return outbox.Outcome{Verdict: pick(d, outbox.Transient, outbox.Unknown), Code: "InternalFailure"}
		}
		return outbox.Outcome{Verdict: outbox.Accepted}
	}
	return bus
}

// needs is the least budget in which a run does anything.
func (tr *trial) needs() time.Duration {
	return tr.config.Reserve + tr.config.SendTimeout + time.Second
}

// kept is what is left of the time when a run has ended at the latest.
func (tr *trial) kept() time.Duration { return min(500*time.Millisecond, tr.config.Reserve/2) * 3 / 4 }

// run runs the relay and checks what holds whatever happens.
func (tr *trial) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), tr.budget)
	defer cancel()
	began := time.Now()
	report, err := outbox.NewRelay(tr.store, tr.bus, tr.config, discard).Run(ctx)
	took := time.Since(began)

	require.LessOrEqual(t, took, tr.budget-min(tr.kept(), tr.budget), "the run ends by itself, with time for the answer")
	require.Zero(t, tr.store.underWay.Load()+tr.bus.underWay.Load(), "a call outlives the run")
	require.Zero(t, tr.store.open, "a session was left open")
	tr.isRecorded(t, report, err)
	tr.isNoEmptySuccess(t, report, err)
	if tr.calm {
		require.LessOrEqual(t, took, max(0, tr.budget-tr.config.Reserve)+time.Second, "the reserve is there for the store alone")
		require.LessOrEqual(t, tr.store.longest, outbox.PublishWindow+time.Second, "no row is locked for longer")
	}
}

// isRecorded checks that the books agree.
func (tr *trial) isRecorded(t *testing.T, report outbox.Report, err error) {
	t.Helper()
	for _, seq := range tr.store.published() {
		require.Positive(t, tr.bus.accepted[seq], "event %d is marked and was not accepted", seq)
	}
	if tr.store.drops != nil {
		return // it is known of a row only where its settling was answered
	}
	require.Empty(t, tr.bus.sentAgain(), "accepted again, though the answer was known")
	require.LessOrEqual(t, report.Published, len(tr.store.published()))
	if unrecorded := len(tr.bus.unrecorded(tr.store.fakeStore)); unrecorded > 0 {
		require.Error(t, err, "%d accepted events are not recorded", unrecorded)
		require.GreaterOrEqual(t, admitted(err), unrecorded, "the error admits fewer than there are: %s", err)
	}
}

var (
	atOnce  = regexp.MustCompile(`(\d+) accepted events could not`)
	alone   = regexp.MustCompile(`event with seq \d+: its outcome could not be recorded`)
	andMore = regexp.MustCompile(`and (\d+) more like these`)
)

// admitted is of how many events an error says that they may be unrecorded.
func admitted(err error) int {
	n := len(alone.FindAllString(err.Error(), -1))
	for _, pattern := range []*regexp.Regexp{atOnce, andMore} {
		for _, found := range pattern.FindAllStringSubmatch(err.Error(), -1) {
			more, _ := strconv.Atoi(found[1])
			n += more
		}
	}
	return n
}

// isNoEmptySuccess checks that a run that did nothing, and had something to do,
// says so.
func (tr *trial) isNoEmptySuccess(t *testing.T, report outbox.Report, err error) {
	t.Helper()
	if tr.budget < tr.needs() {
		require.ErrorContains(t, err, "no time for any work")
		require.Zero(t, tr.store.connects)
	}
	did := report.Published + report.Failed + report.Deferred
	if err == nil && !report.HandedOver && len(tr.store.pending()) > 0 {
		require.Positive(t, did, "nothing was done, and that is no error")
		require.True(t, report.Stopped == outbox.OutOfTime || !tr.leaves(), "it says that it is drained")
	}
}

// leaves reports whether there are events that nothing keeps from being published.
func (tr *trial) leaves() bool {
	return len(tr.store.seqs(func(r *row) bool { return !r.published && r.failed == nil && r.locked == nil && r.retryAt.IsZero() })) > 0
}

func TestARunEndsBeforeItsDeadlineWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		t.Run(fmt.Sprint("Seed", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { anyTrial(seed).run(t) })
		})
	}
}

// calmTrial is a trial in which all goes well.
func calmTrial(budget time.Duration, n int) *trial {
	d := newDice(1)
	store := &slowStore{fakeStore: newStore(events(n, 1, "b")...), connectLimit: 30 * time.Second}
	for _, spell := range []*spell{&store.connecting, &store.claiming, &store.settling, &store.recording, &store.closing} {
		spell.dice = d
	}
	bus := newSlowBus()
	bus.limit, bus.sending.dice, bus.checking.dice = 5*time.Second, d, d
	return &trial{budget: budget, config: config(), store: store, bus: bus}
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func TestARunUnderABusThatAnswersJustInTimeRecordsWhatItSent(t *testing.T) {
	t.Parallel()
	for budget := 11100 * time.Millisecond; budget < 40*time.Second; budget += 370 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			trial := calmTrial(budget, 5_000)
			trial.calm = true
			trial.store.claiming.lag, trial.store.settling.lag = always(20*time.Millisecond), always(20*time.Millisecond)
			trial.bus.sending.lag = always(4999 * time.Millisecond)
			trial.run(t)
			require.NotEmpty(t, trial.store.published(), budget)
			require.Len(t, trial.store.published(), len(trial.bus.accepted), budget)
			require.Empty(t, trial.bus.untold, budget)
		})
	}
}

func TestARunThatWaitedTooLongForTheDatabaseSaysSo(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]func(*slowStore) *spell{
		"ToConnect": func(s *slowStore) *spell { return &s.connecting },
		"ToClaim":   func(s *slowStore) *spell { return &s.claiming },
	} {
		synctest.Test(t, func(t *testing.T) {
			trial := calmTrial(30*time.Second, 10)
			slow(trial.store).lag = always(19500 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), trial.budget)
			defer cancel()
			_, err := outbox.NewRelay(trial.store, trial.bus, trial.config, discard).Run(ctx)
			require.ErrorContains(t, err, "no time for any work: the time of the run, 25s without the reserve, was over", name)
			require.Empty(t, trial.bus.requests, name)
		})
	}
}

// The database of a paused cluster answers after 20 seconds, once.
func TestARunWaitsForADatabaseThatWakesAndTheNextFindsItAwake(t *testing.T) {
	t.Parallel()
	for _, budget := range []time.Duration{15 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			trial := calmTrial(budget, 10)
			awake := time.Now().Add(20 * time.Second)
			trial.store.connecting.lag = func() time.Duration { return time.Until(awake) }
			trial.run(t)
			require.Equal(t, budget == time.Minute, len(trial.store.pending()) == 0)
			time.Sleep(time.Minute)
			trial.run(t)
			require.Empty(t, trial.store.pending())
		})
	}
}

func TestASessionThatDoesNotEndKeepsNothingFromBeingRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trial := calmTrial(time.Minute, 1_000)
		trial.store.closing.hangs = 1
		fails := 3
		trial.store.settle = func(outbox.Settlement) error {
			fails--
			if fails >= 0 {
				return errConnection
			}
			return nil
		}
		report, err := drain(t, trial.store, trial.bus, trial.config, trial.budget)
		require.NoError(t, err)
		require.Equal(t, 1_000, report.Published)
		require.Less(t, report.Duration, 10*time.Second)
		require.Empty(t, trial.bus.sentAgain())
	})
}

func TestNoWorkerSendsWhatAnotherHasInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trial := calmTrial(time.Minute, 300)
		trial.config.FrontScanMax = 100 * time.Millisecond
		trial.store.killed = 0.5 // within ten seconds, most of them while the bus is asked
		trial.bus.sending.lag = always(4 * time.Second)
		report, err := drain(t, trial.store, trial.bus, trial.config, trial.budget)
		require.NoError(t, err)
		require.Equal(t, 300, report.Published)
		require.Empty(t, trial.bus.sentAgain())
	})
}

func TestWhatSeveralWorkersCouldNotRecordIsAddedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trial := calmTrial(time.Minute, 5_000)
		trial.config.Workers = 3
		trial.bus.sending.lag = always(time.Second)
		trial.store.settling.fails, trial.store.recording.fails = 1, 1
		_, err := drain(t, trial.store, trial.bus, trial.config, trial.budget)
		require.Len(t, trial.bus.told, 192, "each has published one batch")
		require.ErrorContains(t, err, "192 accepted events could not all be recorded")
		require.Equal(t, len(trial.bus.told), admitted(err))
	})
}
