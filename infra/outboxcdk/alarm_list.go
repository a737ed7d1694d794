package outboxcdk

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"

	"outboxrelay/internal/emf"
)

const (
	// pauseMax is how long a pause may keep events back before somebody is reminded.
	pauseMax = time.Hour
	// transactionMax is how long a transaction may be open.
	transactionMax = time.Hour
	// retainedMax is how long events may outlive CLEANUP_RETENTION, unless the
	// cleanup is so rare that they have to.
	retainedMax = 24 * time.Hour
)

// lagAlarms are about events that do not arrive.
func (r *OutboxRelay) lagAlarms() []alarm {
	window, threshold := measurements(r.props.Lag), r.props.Alarms.Lag
	high := alarm{
		id: "LagHigh", window: window, missing: quietIsNoNews,
		metric: r.own(emf.OldestUnpublishedAge, maximum, window.period), threshold: threshold.Seconds(),
		meaning: "events have been waiting for more than " + spoken(threshold),
		first:   `invoke admin with {"action": "status"}, and read in the relay's log how its last runs ended`,
		section: "events-do-not-arrive",
	}
	if !r.props.Scheduled { // nothing is invoked, and heartbeats would ring for ever
		return []alarm{high}
	}
	return append([]alarm{high, r.lagMissing()}, r.notInvoked()...)
}

// lagMissing and the heartbeats of functions fill what is missing. An alarm on the
// bare metric would first use up what CloudWatch finds further back, and how far
// back it looks is not documented. Where there is nothing at all, FILL may have
// nothing to fill: then missing data is breaching.
func (r *OutboxRelay) lagMissing() alarm {
	window := measurementHeartbeat(r.props.Lag)
	age := r.own(emf.OldestUnpublishedAge, maximum, window.period)
	return alarm{
		id: "LagMissing", window: window, below: true, threshold: 0, missing: quietIsWrong,
		metric:  math("FILL(age, -1)", window.period, map[string]awscloudwatch.IMetric{"age": age}),
		meaning: "nobody measures whether events arrive",
		first:   "read in the log of lag how its last runs ended; if there are none, look at its schedule",
		section: "the-lag-is-not-measured",
	}
}

// notInvoked are the heartbeats of the relay and, where there are partitions to
// make, of the daily migrate. That lag does not run, LagMissing tells, and
// CleanupBehind what matters of the cleanup.
func (r *OutboxRelay) notInvoked() []alarm {
	relay := r.invocations("RelayNotInvoked", r.Relay, r.props.Relay.Function)
	relay.meaning, relay.section = "the relay does not run", "the-relay-is-not-invoked"
	if !r.props.partitioned() {
		return []alarm{relay}
	}
	migrate := r.invocations("MigrateNotInvoked", r.Migrate, r.props.Migrate.Function)
	migrate.meaning, migrate.section = "migrate does not run, and makes no partitions", "migrate-is-not-invoked"
	return []alarm{relay, migrate}
}

func (r *OutboxRelay) invocations(id string, f awslambda.Function, often Function) alarm {
	window := invocationHeartbeat(often)
	invocations := ofFunction(f, "Invocations", sum, window.period)
	return alarm{
		id: id, window: window, below: true, threshold: 1, missing: quietIsWrong,
		metric: math("FILL(invocations, 0)", window.period, map[string]awscloudwatch.IMetric{"invocations": invocations}),
		first:  "see whether its schedule is there and enabled, and whether its function has concurrency left",
	}
}

// errorAlarms are about runs that end in an error. Whoever invokes admin sees its
// error, and needs no alarm.
func (r *OutboxRelay) errorAlarms() []alarm {
	migrate := r.errors("MigrateErrors", r.Migrate, anyFailingRun(r.props.Migrate.Function))
	migrate.meaning, migrate.section = "migrate has failed", "migrate-fails"
	relay := r.errors("RelayErrors", r.Relay, failingRuns(r.props.Relay.Function))
	relay.meaning, relay.section = "the relay fails", "the-relay-fails"
	lag := r.errors("LagErrors", r.Lag, failingRuns(r.props.Lag))
	lag.meaning, lag.section = "the lag cannot be measured", "the-lag-is-not-measured"
	cleanup := r.errors("CleanupErrors", r.Cleanup, failingRuns(r.props.Cleanup))
	cleanup.meaning, cleanup.section = "the cleanup fails", "the-cleanup-fails"
	return []alarm{relay, lag, cleanup, migrate}
}

func (r *OutboxRelay) errors(id string, f awslambda.Function, window window) alarm {
	return alarm{
		id: id, window: window, missing: quietIsFine,
		metric: ofFunction(f, "Errors", sum, window.period),
		first:  "read the error in its log: it says what is wrong and what to do",
	}
}

// invocationAlarms are about invocations that do not become runs.
func (r *OutboxRelay) invocationAlarms() []alarm {
	runs := failingRuns(r.props.Relay.Function)
	return append([]alarm{
		{
			id: "RelayThrottled", window: runs, missing: quietIsFine,
			metric:  ofFunction(r.Relay, "Throttles", sum, runs.period),
			meaning: "Lambda throttles the relay",
			first:   "compare the concurrency in use with the account's limit, and with what is reserved for the relay",
			section: "the-relay-is-throttled",
		},
		r.relayDropped(),
	}, r.scheduleAlarms()...)
}

// relayDropped leaves out the runs that ended in an error: without retries Lambda
// drops their events too, and RelayErrors has told that. Errors are stamped with
// the beginning of a run and drops with its end, so it takes a long period, and
// more drops than there can be whose error is outside of it.
//
// In a difference CloudWatch takes a missing value for 0. Where no relay begins at
// all there are no Errors, and what the difference to nothing is, is not documented:
// FILL would not help, and it is for RelayNotInvoked to tell that. This one tells that
// some begin and others do not.
func (r *OutboxRelay) relayDropped() alarm {
	relay := r.props.Relay
	period := max(15*time.Minute, 5*relay.Every)
	astride := ceil(relay.Timeout, time.Minute) + late
	return alarm{
		id: "RelayDropped", window: window{period, 1, 1}, missing: quietIsFine,
		threshold: float64(relay.Parallel) * float64(ceil(astride, relay.Every)/relay.Every+1),
		metric: math("dropped - failed", period, map[string]awscloudwatch.IMetric{
			"dropped": ofFunction(r.Relay, "AsyncEventsDropped", sum, period),
			"failed":  ofFunction(r.Relay, "Errors", sum, period),
		}),
		meaning: "invocations of the relay are dropped before they begin",
		first:   "look at the function's reserved concurrency: 0 turns it off",
		section: "the-relay-is-throttled",
	}
}

// scheduleAlarms are about invocations that do not get as far as Lambda: the target
// refuses, or Scheduler gives up for another reason, or what is given up does not even
// get into the queue. Each has an alarm of its own, since a sum might have no
// datapoint as long as one of them has never been.
func (r *OutboxRelay) scheduleAlarms() []alarm {
	pace := r.schedulesWindow()
	single := pace
	single.datapoints = 1
	alarms := []alarm{
		{
			id: "SchedulesFail", window: pace, metric: r.ofSchedules(targetErrors, pace.period),
			meaning: "the schedules cannot invoke their functions",
			first:   "read ERROR_CODE and ERROR_MESSAGE, attributes of what is in the queue Undelivered",
		},
		{
			id: "SchedulesDrop", window: pace, metric: r.ofSchedules(invocationsDropped, pace.period),
			meaning: "the schedules drop invocations",
			first:   "read ERROR_CODE and ERROR_MESSAGE, attributes of what is in the queue Undelivered; if it is empty, look at the role of the schedules",
		},
		{
			id: "UndeliveredLost", window: single, metric: r.ofSchedules(invocationsLost, single.period),
			meaning: "what the schedules could not deliver did not get into the queue Undelivered either",
			first:   "see whether the role of the schedules is there and has both its policies",
		},
		{
			id: "UndeliveredWaiting", window: window{slow, 1, 1}, metric: r.undelivered(slow),
			meaning: "invocations that could not be delivered are in the queue Undelivered",
			first:   "read their attributes ERROR_CODE and ERROR_MESSAGE, mend that, and then purge the queue",
		},
	}
	for i := range alarms {
		alarms[i].missing, alarms[i].section = quietIsFine, "invocations-are-not-delivered"
	}
	return alarms
}

// schedulesWindow has room for some invocations of relay and lag, the two that are
// in a hurry. The schedules of a group share their metrics, but to wait for the
// rarest would be to wait for days: what cannot be delivered of that one,
// UndeliveredWaiting tells at once.
func (r *OutboxRelay) schedulesWindow() window {
	often, rarely := min(r.props.Relay.Every, r.props.Lag.Every), max(r.props.Relay.Every, r.props.Lag.Every)
	datapoints, _ := tolerance(often)
	all := spread(time.Duration(datapoints)*rarely + late)
	all.datapoints = datapoints
	return all
}

// measuredAlarms are about what lag measures besides the lag.
func (r *OutboxRelay) measuredAlarms() []alarm {
	single, runs, hour := anyMeasurement(r.props.Lag), measurements(r.props.Lag), sustained(r.props.Lag, pauseMax)
	return []alarm{
		{
			id: "FailedEvents", window: single, missing: quietIsNoNews,
			metric:  r.own(emf.FailedEvents, maximum, single.period),
			meaning: "events have failed for good and wait for somebody",
			first:   `invoke admin with {"action": "list", "all": true} to see why`,
			section: "events-have-failed",
		},
		{
			id: "PauseForgotten", window: hour, missing: quietIsNoNews,
			metric:  r.own(emf.PausedEvents, maximum, hour.period),
			meaning: "a pause has kept events back for " + spoken(pauseMax),
			first:   `invoke admin with {"action": "status"} to see which bus is paused and why, and resume it`,
			section: "a-pause-was-forgotten",
		},
		{
			id: "CleanupBehind", window: runs, missing: quietIsNoNews,
			metric: r.own(emf.OldestPublishedAge, maximum, runs.period), threshold: (r.props.settings.cleanup.Retention + r.retained()).Seconds(),
			meaning: "published events are kept for " + spoken(r.retained()) + " longer than they should be",
			first:   "read in the log of cleanup whether it runs and at what it stops",
			section: "the-cleanup-does-not-keep-up",
		},
		{
			id: "TransactionOpen", window: runs, missing: quietIsNoNews,
			metric: r.own(emf.OldestTransactionAge, maximum, runs.period), threshold: transactionMax.Seconds(),
			meaning: "a transaction has been open for more than " + spoken(transactionMax) + ", and vacuum waits for it",
			first:   "find it in pg_stat_activity and ask whose it is",
			section: "a-transaction-stays-open",
		},
	}
}

// retained is how long events may outlive CLEANUP_RETENTION. Just before a run they
// have outlived it by a whole period.
func (r *OutboxRelay) retained() time.Duration { return max(retainedMax, 2*r.props.Cleanup.Every) }

// spoken is a duration as people say it.
func spoken(d time.Duration) string {
	switch {
	case d == time.Hour:
		return "an hour"
	case d%time.Hour == 0:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	case d%time.Minute == 0:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	default:
		return d.String()
	}
}
