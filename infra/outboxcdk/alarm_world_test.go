package outboxcdk_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"outboxrelay/infra/cloudwatchtest"
	"outboxrelay/internal/emf"
)

// pulse is how a function is invoked.
type pulse struct{ every, timeout time.Duration }

// tempo is how all are.
type tempo struct {
	name string
	// pulses are by the construct of the function.
	pulses map[string]pulse
	// run is how long a run of the relay takes that has nothing to do.
	run time.Duration
}

// fate is what becomes of an invocation.
type fate int

const (
	works       fate = iota
	fails            // ends in an error at once
	hangs            // until its timeout, which is an error
	off              // is not invoked: the schedule is off
	undelivered      // Scheduler cannot invoke it, and puts it into the queue
	lost             // Scheduler can do neither
	throttled        // Lambda has no concurrency for it
	delayed          // Lambda has none at first
	starved          // Lambda has none for another one beside it
	disabled         // its concurrency is 0
	unseen           // works, but its metrics have another name
)

// condition is how an outbox is at a time; the zero value: well.
type condition struct {
	fates map[string]fate
	// measured is what lag measures other than that all is well.
	measured map[string]float64
	// waiting: something is left in the queue Undelivered.
	waiting bool
}

// well is what lag measures when all is. The oldest event is deleted by the first
// cleanup after its time.
func (t tempo) well() map[string]float64 {
	return map[string]float64{
		emf.OldestUnpublishedAge: 2,
		emf.FailedEvents:         0,
		emf.PausedEvents:         0,
		emf.OldestPublishedAge:   (retention + t.pulses["Cleanup"].every).Seconds(),
		emf.OldestTransactionAge: 3,
	}
}

// world makes the metrics of an outbox from its condition.
type world struct {
	tempo tempo
	// late is how long after a run its metrics can be seen, at most.
	late time.Duration
	// busy: each run of relay and migrate takes its whole time.
	busy bool
	seed uint64
	at   func(time.Time) condition
}

// start is when an invocation begins that is due at a minute: Scheduler picks the
// second.
func (w world) start(function string, due time.Time) time.Time {
	random := rand.New(rand.NewPCG(w.seed+uint64(len(function)), uint64(due.Unix())))
	return due.Add(time.Duration(random.IntN(60)) * time.Second)
}

// metrics are those from one time up to another.
func (w world) metrics(from, to time.Time) cloudwatchtest.Metrics {
	m := writer{cloudwatchtest.Metrics{}, rand.New(rand.NewPCG(w.seed, 1)), w.late}
	for _, function := range slices.Sorted(maps.Keys(w.tempo.pulses)) {
		pulse := w.tempo.pulses[function]
		for due := from; due.Before(to); due = due.Add(pulse.every) {
			start := w.start(function, due)
			w.invoke(m, function, pulse, start, w.at(start))
		}
	}
	for minute := from; minute.Before(to); minute = minute.Add(time.Minute) {
		if w.at(minute).waiting {
			m.put(queued, minute, minute.Add(time.Minute), 1)
		}
	}
	return m.metrics
}

func (w world) invoke(m writer, function string, pulse pulse, start time.Time, now condition) {
	end := start.Add(time.Second)
	if function == "Relay" {
		end = start.Add(w.tempo.run)
	}
	if w.busy && (function == "Relay" || function == "Migrate") {
		end = start.Add(pulse.timeout)
	}
	switch fate := now.fates[function]; fate {
	case works, unseen:
		m.invocation(function, start, end, 0)
		if function == "Lag" && fate == works {
			m.measured(end, w.tempo.well(), now.measured)
		}
	case fails:
		m.invocation(function, start, end, 1)
	case hangs:
		m.invocation(function, start, start.Add(pulse.timeout), 1)
	case undelivered:
		m.put(scheduler("TargetErrorCount"), start, start, 1)
		m.put(scheduler("InvocationDroppedCount"), start, start, 1)
		// It waits until the next is there, or somebody purges the queue.
		for at := start; at.Before(start.Add(pulse.every)); at = at.Add(time.Minute) {
			m.put(queued, at, at.Add(time.Minute), 1)
		}
	case lost:
		m.put(scheduler("InvocationDroppedCount"), start, start, 1)
		m.put(scheduler("InvocationsFailedToBeSentToDeadLetterCount"), start, start, 1)
	case throttled: // tried again until the event is a minute old
		m.put(lambda(function, "Throttles"), start, start, 1)
		m.put(lambda(function, "Throttles"), start.Add(30*time.Second), start.Add(30*time.Second), 1)
		m.dropped(function, start.Add(time.Minute))
	case delayed:
		m.put(lambda(function, "Throttles"), start, start, 1)
		m.invocation(function, start.Add(50*time.Second), end.Add(50*time.Second), 0)
		if function == "Lag" {
			m.measured(end.Add(50*time.Second), w.tempo.well(), now.measured)
		}
	case starved:
		m.invocation(function, start, end, 0)
		m.put(lambda(function, "Throttles"), start, start, 1)
		m.dropped(function, start.Add(time.Minute))
	case disabled:
		m.dropped(function, start)
	case off:
	}
}

// writer writes what can be seen a little later.
type writer struct {
	metrics cloudwatchtest.Metrics
	random  *rand.Rand
	late    time.Duration
}

func (m writer) put(metric cloudwatchtest.Metric, stamped, written time.Time, value float64) {
	visible := written
	if m.random.IntN(2) == 0 {
		visible = written.Add(m.late)
	}
	m.metrics.Put(metric, stamped, visible, value)
}

// invocation is written when a run ends, and stamped with the time at which it
// began.
func (m writer) invocation(function string, start, end time.Time, errors float64) {
	m.put(lambda(function, "Invocations"), start, end, 1)
	m.put(lambda(function, "Errors"), start, end, errors)
	m.put(lambda(function, "Throttles"), start, end, 0)
	if errors > 0 { // and not tried again
		m.dropped(function, end)
	}
}

func (m writer) dropped(function string, at time.Time) {
	m.put(lambda(function, "AsyncEventsDropped"), at, at, 1)
}

func (m writer) measured(at time.Time, well, instead map[string]float64) {
	for _, name := range slices.Sorted(maps.Keys(well)) {
		value := well[name]
		if other, is := instead[name]; is {
			value = other
		}
		m.put(cloudwatchtest.NewMetric("OutboxRelay", name, "Outbox=outbox"), at, at, value)
	}
}

var queued = cloudwatchtest.NewMetric("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName=Undelivered")

func scheduler(name string) cloudwatchtest.Metric {
	return cloudwatchtest.NewMetric("AWS/Scheduler", name, "ScheduleGroup=Schedules")
}

func lambda(function, name string) cloudwatchtest.Metric {
	return cloudwatchtest.NewMetric("AWS/Lambda", name, "FunctionName="+function)
}
