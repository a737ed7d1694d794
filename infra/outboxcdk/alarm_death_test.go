package outboxcdk_test

import (
	"time"

	"outboxrelay/internal/emf"
)

// death is a way in which an outbox can die: a row of the table in
// docs/operation.md.
type death struct {
	what string
	// rings are the alarms that tell it within a time, counted from the first run of
	// a function that is not as it should be. Others may ring later.
	rings  []string
	within func(tempo) time.Duration
	of     string
	later  []string
	// perhaps are those of which it is not documented whether they ring.
	perhaps []string
	// mend is what to do about it.
	mend string
	// shown are the tests, as function.Test, that show that what happens makes runs
	// fail, or lag measure, as is says.
	shown []string
	// is how the outbox is after so long.
	is func(since time.Duration) condition
	// lasts is how long it takes at least until somebody has mended it; 0: three hours.
	lasts time.Duration
}

// duration is how long it takes until somebody has mended it: long enough for each
// function to fail a few times.
func (d death) duration(t tempo) time.Duration {
	long := max(d.lasts, 3*time.Hour)
	for function := range d.is(0).fates {
		if function != "Migrate" {
			long = max(long, 3*t.pulses[function].every)
		}
	}
	return long
}

// aftermath is how long it takes until the last alarm is over: migrate has to run
// again, and what has failed must be out of each window.
func (d death) aftermath(t tempo) time.Duration {
	long := time.Duration(0)
	for function := range d.is(0).fates {
		every := t.pulses[function].every
		if function != "Migrate" {
			every *= 3
		}
		long = max(long, every)
	}
	return long + 3*time.Hour
}

// atOnce is the promise for all that must be heard soon: five minutes where the
// function runs every minute. Rare runs have to fail twice, and those of a polling
// relay are long. Where three of them take more than a day, periods are of an hour.
func atOnce(function string) func(tempo) time.Duration {
	return func(t tempo) time.Duration {
		pulse := t.pulses[function]
		period := time.Duration(0)
		if 3*pulse.every > 24*time.Hour {
			period = time.Hour
		}
		return pulse.every + 3*time.Minute + roundUp(pulse.timeout) + period
	}
}

// soon is the promise of a single datapoint in a period of five minutes.
func soon(tempo) time.Duration { return 7 * time.Minute }

// byTheHour is the promise of the daily heartbeat: it waits for an hour, and for the
// end of a period.
func byTheHour(tempo) time.Duration { return 2*time.Hour + 2*time.Minute }

// after is the promise for what is harmful only when it lasts, and is measured.
func after(span time.Duration) func(tempo) time.Duration {
	return func(t tempo) time.Duration { return span + 3*t.pulses["Lag"].every + 2*time.Minute }
}

// lagged is the promise for a lag that is over what it may be while all is well, and
// one run fails.
func lagged(t tempo) time.Duration {
	lag := 5 * time.Minute
	if t.name != "Polling" {
		lag = max(lag, 2*(t.pulses["Relay"].every+time.Minute))
	}
	return after(lag)(t)
}

// aDayOver is the promise for what the cleanup leaves, or two of its periods.
func aDayOver(t tempo) time.Duration {
	return after(max(24*time.Hour, 2*t.pulses["Cleanup"].every))(t)
}

// all is a fate that functions share.
func all(what fate, functions ...string) map[string]fate {
	fates := map[string]fate{}
	for _, function := range functions {
		fates[function] = what
	}
	return fates
}

// unpublished is a fate of the relay, behind which the events grow old.
func unpublished(what fate) func(time.Duration) condition {
	return func(since time.Duration) condition {
		return condition{fates: all(what, "Relay"), measured: map[string]float64{emf.OldestUnpublishedAge: since.Seconds()}}
	}
}

// undeleted is a fate of the cleanup, behind which published events grow old.
func undeleted(what fate) func(time.Duration) condition {
	return func(since time.Duration) condition {
		return condition{fates: all(what, "Cleanup"), measured: map[string]float64{emf.OldestPublishedAge: (retention + since).Seconds()}}
	}
}

// shared is any other fate.
func shared(what fate, functions ...string) func(time.Duration) condition {
	return func(time.Duration) condition { return condition{fates: all(what, functions...)} }
}

// grows is a metric that grows by a second a second.
func grows(name string) func(time.Duration) condition {
	return func(since time.Duration) condition {
		return condition{measured: map[string]float64{name: since.Seconds()}}
	}
}

// counts is a metric that is one from the beginning.
func counts(name string) func(time.Duration) condition {
	return func(time.Duration) condition { return condition{measured: map[string]float64{name: 1}} }
}

// leftInTheQueue is all well again but for what nobody has purged.
func leftInTheQueue(time.Duration) condition { return condition{waiting: true} }

const retention = 7 * 24 * time.Hour

var deaths = []death{
	{
		what: "the schedule of the relay is off or deleted", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked"}, later: []string{"LagHigh"},
		mend: "turn it on, or make it again", is: unpublished(off),
	},
	{
		what: "all schedules are off: relay and monitor are still", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked", "LagMissing"}, later: []string{"MigrateNotInvoked"},
		mend: "turn them on", is: shared(off, "Relay", "Lag", "Cleanup", "Migrate"),
	},
	{
		what: "the role of the schedules may not invoke", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked", "LagMissing", "SchedulesFail", "SchedulesDrop"}, later: []string{"UndeliveredWaiting", "MigrateNotInvoked"},
		mend: "give the role its policy back, then purge the queue", is: shared(undelivered, "Relay", "Lag", "Cleanup", "Migrate"),
	},
	{
		what: "the role of the schedules is gone, and nothing gets into the queue", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked", "LagMissing", "SchedulesDrop", "UndeliveredLost"}, later: []string{"MigrateNotInvoked"},
		mend: "make the role again", is: shared(lost, "Relay", "Lag", "Cleanup", "Migrate"),
	},
	{
		what: "the function of the relay is deleted", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked", "SchedulesFail", "SchedulesDrop"}, later: []string{"UndeliveredWaiting", "LagHigh"},
		mend: "make the function again, then purge the queue", is: unpublished(undelivered),
	},
	{
		what: "deliveries succeed again, and what could not be delivered is left in the queue", of: "Lag", within: soon,
		rings: []string{"UndeliveredWaiting"},
		mend:  "purge the queue", is: leftInTheQueue,
	},
	{
		what: "the concurrency of the relay is set to 0", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked"}, later: []string{"LagHigh"}, perhaps: []string{"RelayDropped"},
		mend: "delete that, or set `relayReservedConcurrency`", is: unpublished(disabled),
	},
	{
		what: "the account is out of concurrency", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked", "RelayThrottled", "LagMissing"}, perhaps: []string{"RelayDropped"},
		mend: "find who uses it, reserve some, have the limit raised", is: shared(throttled, "Relay", "Lag", "Cleanup"),
	},
	{
		what: "the relay has less concurrency than there are parallel ones", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayThrottled"}, later: []string{"RelayDropped"},
		mend: "a higher `relayReservedConcurrency`", is: shared(starved, "Relay"),
	},
	{
		what: "the relay's secret is wrong; the bus is gone or refuses access, with events to publish", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayErrors"}, later: []string{"LagHigh"},
		mend: "what the error in its log says",
		shown: []string{
			"relay.TestRecoversWhenTheSecretIsRotated", "relay.TestKeepsTheEventsOfABusThatDoesNotExist", "relay.TestKeepsEveryEventWhileAccessIsDenied",
		},
		is: unpublished(fails),
	},
	{
		what: "the database is down, or the secret of all functions is wrong", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayErrors", "LagErrors", "LagMissing"}, later: []string{"CleanupErrors"},
		mend:  "start the database, correct the secret",
		shown: []string{"faults.TestNamesTheDatabaseThatIsDownAndNoPassword", "lag.TestEmitsNothingWhenItCannotMeasure", "cleanup.TestNamesWhatIsWrong"},
		is:    shared(fails, "Relay", "Lag", "Cleanup"),
	},
	{
		what: "there is no way out of the VPC to the database or the secret", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayErrors", "LagErrors", "LagMissing"}, later: []string{"CleanupErrors"},
		mend:  "the route, security group or endpoint that the error names",
		shown: []string{"faults.TestNamesTheDatabaseThatCannotBeReached", "a subnet has no route to Secrets Manager"},
		is:    shared(hangs, "Relay", "Lag", "Cleanup"),
	},
	{
		what: "there is no way out of the VPC to EventBridge; the relay hangs until its timeout, crashes, or is out of memory", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayErrors"}, later: []string{"LagHigh"},
		mend:  "the endpoint that the error names; without a `RelayError`, more time or memory",
		shown: []string{"a subnet has no route to EventBridge", "the bus reads requests and does not answer"},
		is:    unpublished(hangs),
	},
	{
		what: "the schedule of the monitor `lag` is off", of: "Lag", within: atOnce("Lag"),
		rings: []string{"LagMissing"},
		mend:  "turn it on", is: shared(off, "Lag"),
	},
	{
		what: "the monitor `lag` fails", of: "Lag", within: atOnce("Lag"),
		rings: []string{"LagMissing", "LagErrors"},
		mend:  "what the error in its log says",
		shown: []string{"lag.TestEmitsNothingWhenItCannotMeasure"},
		is:    shared(fails, "Lag"),
	},
	{
		what: "metrics have another name: `OUTBOX_NAME` or `METRICS_NAMESPACE` was changed by hand", of: "Lag", within: atOnce("Lag"),
		rings: []string{"LagMissing"},
		mend:  "change it back", is: shared(unseen, "Lag"),
	},
	{
		what: "events are poison: they can never be published", of: "Lag", within: atOnce("Lag"),
		rings: []string{"FailedEvents"},
		mend:  "their cause, then redrive or discard them",
		shown: []string{"relay.TestPublishesWhatComesAfterAHeadOfPoison", "lag.TestAnswersEmitsAndLogsWhatItMeasured"},
		is:    counts(emf.FailedEvents),
	},
	{
		what: "the daily `migrate` fails (at a deployment the deployment fails, too)", of: "Migrate", within: soon,
		rings: []string{"MigrateErrors"}, lasts: time.Hour,
		mend:  "what the error in its log says",
		shown: []string{"migrate.TestAFailureIsAMigrateError"},
		is:    shared(fails, "Migrate"),
	},
	{
		what: "the daily `migrate` is not invoked: its schedule is off or deleted", of: "Migrate", within: byTheHour,
		rings: []string{"MigrateNotInvoked"},
		mend:  "turn it on, or make it again; run it", is: shared(off, "Migrate"),
	},
	{
		what: "the function of `migrate` is deleted", of: "Migrate", within: soon,
		rings: []string{"UndeliveredWaiting"}, later: []string{"MigrateNotInvoked"},
		mend: "make the function again, then purge the queue", is: shared(undelivered, "Migrate"),
	},
	{
		what: "more events are written than the relay publishes", of: "Lag", within: lagged,
		rings: []string{"LagHigh"},
		mend:  "more relays at once, or a higher `RELAY_CONCURRENCY`", is: grows(emf.OldestUnpublishedAge),
	},
	{
		what: "the cleanup fails", of: "Cleanup", within: atOnce("Cleanup"),
		rings: []string{"CleanupErrors"}, later: []string{"CleanupBehind"}, lasts: 27 * time.Hour,
		mend:  "what the error in its log says",
		shown: []string{"cleanup.TestNamesTheRowThatItCouldNotDelete", "cleanup.TestNamesWhatIsWrong"},
		is:    undeleted(fails),
	},
	{
		what: "the cleanup is not invoked, or deletes less than expires", of: "Lag", within: aDayOver,
		rings: []string{"CleanupBehind"}, lasts: 27 * time.Hour,
		mend: "its schedule, or run it more often", is: undeleted(off),
	},
	{
		what: "a bus was paused and forgotten", of: "Lag", within: after(time.Hour),
		rings: []string{"PauseForgotten"},
		mend:  "resume it", is: counts(emf.PausedEvents),
	},
	{
		what: "a transaction stays open, and vacuum waits", of: "Lag", within: after(time.Hour),
		rings: []string{"TransactionOpen"},
		mend:  "end it", is: grows(emf.OldestTransactionAge),
	},
}

// roundUp is a duration in whole minutes.
func roundUp(d time.Duration) time.Duration { return (d + time.Minute - 1).Truncate(time.Minute) }
