package outbox

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Config says how a relay works. All of it has to be set.
type Config struct {
	BatchSize  int // rows a claim locks at the most
	BatchBytes int // bytes of text a claim returns at the most
	EventBytes int // a payload longer than this can never be published

	Workers     int     // sessions that claim, publish and settle
	Concurrency int     // requests in flight at once, over all workers
	MaxRate     float64 // events a second; 0: no limit

	SendTimeout  time.Duration // the publisher's limit for one request
	Reserve      time.Duration // kept free before the deadline
	PollInterval time.Duration // pause of an idle run; 0: a drained run ends
	Parallel     int           // polling runs that are to be at work at once: older ones end
	FrontScanMax time.Duration // longest time between two scans from the front

	RetryBase   time.Duration // first backoff of an entry
	RetryMax    time.Duration // longest backoff of an entry
	MaxAttempts int           // tries of an entry that fails with an unknown code
}

// Relay drains an outbox. It keeps nothing between runs.
type Relay struct {
	store     Store
	publisher Publisher
	config    Config
	log       *slog.Logger
}

// NewRelay returns a relay that moves events from the store to the publisher.
func NewRelay(store Store, publisher Publisher, config Config, log *slog.Logger) *Relay {
	return &Relay{store: store, publisher: publisher, config: config, log: log}
}

// Run drains the outbox until it is empty or the time is used up: the context's
// deadline less the reserve. One that polls goes on until the time is used up, or
// until enough newer ones are at work. The report tells what was done, also beside an
// error. It is an error when the time is too short for any work, or was over before
// any was done, when the store fails, when an accepted event could not be
// recorded, and when a bus could not be published to.
func (r *Relay) Run(ctx context.Context) (Report, error) {
	began := time.Now()
	run := r.newRun(ctx, began)
	if !run.budget.allows(began) {
		return run.report.done(began), run.budget.tooShort(began,
			"give the function a longer timeout, or lower RELAY_RESERVE or PUT_EVENTS_TIMEOUT")
	}
	run.startWorker(ctx)
	run.workers.Wait()
	run.report.handedOver(run.turn.isOver())
	run.fail(run.buses.errors()...)
	run.fail(run.suspects.errors()...)
	if run.idled(ctx) {
		run.fail(run.budget.usedUp(began))
	}
	return run.report.done(began), errors.Join(run.errs...)
}

// run is the state that the workers of one run share.
type run struct {
	relay      *Relay
	budget     budget
	floor      *floor
	turn       *turn
	buses      *buses
	suspects   *suspects
	flight     *flight
	dispatcher *dispatcher
	report     *report

	workers sync.WaitGroup
	mu      sync.Mutex
	working int  // workers
	most    int  // workers there may be
	worked  bool // something was sent, or there was nothing to send
	errs    []error
}

func (r *Relay) newRun(ctx context.Context, now time.Time) *run {
	run := &run{
		relay:    r,
		budget:   newBudget(ctx, now, r.config.Reserve, r.config.SendTimeout+settleTime),
		floor:    newFloor(r.config.FrontScanMax),
		turn:     newTurn(r.config),
		buses:    newBuses(),
		suspects: newSuspects(),
		flight:   newFlight(),
		report:   &report{},
		most:     r.config.Workers,
	}
	run.dispatcher = newDispatcher(r.publisher, r.config, run.buses, run.suspects, run.report)
	return run
}

// startWorker adds a worker if there may be another. The first one starts with
// the run; each that finds more than it can take starts the next, so that an
// idle outbox costs one connection.
func (r *run) startWorker(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.working >= r.most {
		return
	}
	worker := &worker{run: r, rows: firstRows, extra: r.working > 0}
	r.working++
	r.workers.Go(func() {
		if err := worker.drain(ctx); err != nil {
			r.fail(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !worker.gone {
			r.working--
		}
	})
}

// enough makes the workers there are all that there will be.
func (r *run) enough() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most = r.working - 1
}

// spares lets a worker go where others go on, and reports whether it may. Of several
// that ask at once the last may not.
func (r *run) spares(w *worker) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.working == 1 {
		return false
	}
	r.working--
	w.gone = true
	return true
}

// works notes that the run is of use.
func (r *run) works() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.worked = true
}

// wasOfUse reports that the run has done something, or found nothing to do.
func (r *run) wasOfUse() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.worked
}

// idled reports that the time of the run was over before it was of any use, and
// that no error says so yet.
func (r *run) idled(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.worked && len(r.errs) == 0 && ctx.Err() == nil && !r.turn.isOver()
}

// goesOn reports whether a batch may be started now.
func (r *run) goesOn(ctx context.Context) bool {
	return ctx.Err() == nil && r.budget.allows(time.Now()) && r.suspects.bearable() && r.buses.bearable()
}

// claims reports whether a batch may be claimed now.
func (r *run) claims(ctx context.Context) bool { return !r.turn.isOver() && r.goesOn(ctx) }

// fail adds to the error of the run, what several workers say only once.
func (r *run) fail(errs ...error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range errs {
		said := func(known error) bool {
			unrecorded, ok := errors.AsType[*unrecordedError](known)
			return ok && unrecorded.takes(err) || known.Error() == err.Error()
		}
		if !slices.ContainsFunc(r.errs, said) {
			r.errs = append(r.errs, err)
		}
	}
}
