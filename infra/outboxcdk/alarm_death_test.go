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
	// is how the outbox is when it has been dead for so long.
	is func(dead time.Duration) condition
	// lasts is how long it takes until somebody has mended it; 0: three hours.
	lasts time.Duration
}

// atOnce is the promise for all that must be heard soon: five minutes where the
// function runs every minute. Rare runs have to fail twice, and those of a polling
// relay are long.
func atOnce(function string) func(tempo) time.Duration {
	return func(t tempo) time.Duration {
		pulse := t.pulses[function]
		return pulse.every + 3*time.Minute + roundUp(pulse.timeout)
	}
}

// after is the promise for what is harmful only when it lasts, and is measured.
func after(span time.Duration) func(tempo) time.Duration {
	return func(t tempo) time.Duration { return span + 3*t.pulses["Lag"].every + 2*time.Minute }
}

// all is a fate that functions share.
func all(what fate, functions ...string) map[string]fate {
	fates := map[string]fate{}
	for _, function := range functions {
		fates[function] = what
	}
	return fates
}

// relayDead is a relay with some fate, behind which the events grow old.
func relayDead(fates map[string]fate) func(time.Duration) condition {
	return func(dead time.Duration) condition {
		return condition{fates, map[string]float64{emf.OldestUnpublishedAge: dead.Seconds()}}
	}
}

// dead is any other fate.
func dead(fates map[string]fate) func(time.Duration) condition {
	return func(time.Duration) condition { return condition{fates: fates} }
}

// grows is a metric that grows by a second a second from some value on.
func grows(name string, from time.Duration) func(time.Duration) condition {
	return func(dead time.Duration) condition {
		return condition{measured: map[string]float64{name: (from + dead).Seconds()}}
	}
}

// counts is a metric that is one from the beginning.
func counts(name string) func(time.Duration) condition {
	return func(time.Duration) condition { return condition{measured: map[string]float64{name: 1}} }
}

const retention = 7 * 24 * time.Hour

var deaths = []death{
	{
		what: "the schedule of the relay is off or deleted", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked"}, later: []string{"LagHigh"},
		is: relayDead(all(off, "Relay")),
	},
	{
		what: "all schedules are off: relay and monitor are dead", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked", "LagMissing"},
		is:    dead(all(off, "Relay", "Lag", "Cleanup")),
	},
	{
		what: "the schedules may not invoke", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked", "LagMissing", "SchedulesFail"}, later: []string{"UndeliveredWaiting"},
		is: dead(all(undelivered, "Relay", "Lag", "Cleanup")),
	},
	{
		what: "the function of the relay is deleted", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked", "SchedulesFail"}, later: []string{"UndeliveredWaiting", "LagHigh"},
		is: relayDead(all(undelivered, "Relay")),
	},
	{
		what: "the concurrency of the relay is set to 0", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked"}, later: []string{"RelayDropped", "LagHigh"},
		is: relayDead(all(disabled, "Relay")),
	},
	{
		what: "the account is out of concurrency", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayNotInvoked", "RelayThrottled", "LagMissing"}, later: []string{"RelayDropped"},
		is: dead(all(throttled, "Relay", "Lag", "Cleanup")),
	},
	{
		what: "the relay's secret is wrong", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayErrors"}, later: []string{"LagHigh"},
		is: relayDead(all(fails, "Relay")),
	},
	{
		what: "the database is down, or the secret of all functions is wrong", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayErrors", "LagErrors", "LagMissing"}, later: []string{"CleanupErrors"},
		is: dead(all(fails, "Relay", "Lag", "Cleanup")),
	},
	{
		what: "there is no way out of the VPC to the database or the secret", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayErrors", "LagErrors", "LagMissing"}, later: []string{"CleanupErrors"},
		is: dead(all(hangs, "Relay", "Lag", "Cleanup")),
	},
	{
		what: "there is no way out of the VPC to EventBridge", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayErrors"}, later: []string{"LagHigh"},
		is: relayDead(all(hangs, "Relay")),
	},
	{
		what: "the bus is gone, with events to publish", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayErrors"}, later: []string{"LagHigh"},
		is: relayDead(all(fails, "Relay")),
	},
	{
		what: "the bus refuses access, with events to publish", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayErrors"}, later: []string{"LagHigh"},
		is: relayDead(all(fails, "Relay")),
	},
	{
		what: "the relay hangs until its timeout, crashes, or is out of memory", of: "Relay", within: atOnce("Relay"),
		rings: []string{"RelayErrors"}, later: []string{"LagHigh"},
		is: relayDead(all(hangs, "Relay")),
	},
	{
		what: "the schedule of the monitor `lag` is off", of: "Lag", within: atOnce("Lag"),
		rings: []string{"LagMissing"},
		is:    dead(all(off, "Lag")),
	},
	{
		what: "the monitor `lag` fails", of: "Lag", within: atOnce("Lag"),
		rings: []string{"LagMissing", "LagErrors"},
		is:    dead(all(fails, "Lag")),
	},
	{
		what: "metrics have another name: `OUTBOX_NAME` or `METRICS_NAMESPACE` was changed by hand", of: "Lag", within: atOnce("Lag"),
		rings: []string{"LagMissing"},
		is:    dead(all(unseen, "Lag")),
	},
	{
		what: "events are poison: they can never be published", of: "Lag", within: atOnce("Lag"),
		rings: []string{"FailedEvents"},
		is:    counts(emf.FailedEvents),
	},
	{
		what: "the daily `migrate` fails (at a deployment the deployment fails, too)", of: "Migrate", within: func(tempo) time.Duration { return 7 * time.Minute },
		rings: []string{"MigrateErrors"}, lasts: time.Hour,
		is: dead(all(fails, "Migrate")),
	},
	{
		what: "more events are written than the relay publishes", of: "Lag", within: after(5 * time.Minute),
		rings: []string{"LagHigh"},
		is:    grows(emf.OldestUnpublishedAge, 0),
	},
	{
		what: "the cleanup fails", of: "Cleanup", within: atOnce("Cleanup"),
		rings: []string{"CleanupErrors"},
		is:    dead(all(fails, "Cleanup")),
	},
	{
		what: "the cleanup is not invoked, or deletes less than expires", of: "Lag", within: after(24 * time.Hour),
		rings: []string{"CleanupBehind"}, lasts: 27 * time.Hour,
		is: func(dead time.Duration) condition {
			fallsBehind := grows(emf.OldestPublishedAge, retention)(dead)
			fallsBehind.fates = all(off, "Cleanup")
			return fallsBehind
		},
	},
	{
		what: "a bus was paused and forgotten", of: "Lag", within: after(time.Hour),
		rings: []string{"PauseForgotten"},
		is:    counts(emf.PausedEvents),
	},
	{
		what: "a transaction stays open, and vacuum waits", of: "Lag", within: after(time.Hour),
		rings: []string{"TransactionOpen"},
		is:    grows(emf.OldestTransactionAge, 0),
	},
}

// roundUp is a duration in whole minutes.
func roundUp(d time.Duration) time.Duration { return (d + time.Minute - 1).Truncate(time.Minute) }
