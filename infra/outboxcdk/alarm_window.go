package outboxcdk

import "time"

// window is how an alarm looks at what it watches: at datapoints of a period
// each, of which so many of the last ones have to be over the threshold.
//
// Windows follow from how often a function is invoked, or an alarm would ring in
// each pause between two runs, or could never ring at all. Their periods are a
// minute all the same, where they can be: CloudWatch moves longer ones along with
// the time, so that two runs are now in one period and now in two.
type window struct {
	period              time.Duration
	periods, datapoints int
}

// late is how long after a run its metrics are there, at most. Lambda stamps them
// with the minute in which the run began, so that a long run is late by itself.
const late = 2 * time.Minute

// heartbeat is the window of what is seen at least once in a span: it has been
// missing for longer than can be if all is well. The scheduler invokes in whatever
// second of a minute it likes, so that a minute may have no run.
func heartbeat(span time.Duration) window {
	all := spread(span + time.Minute + late)
	all.datapoints = all.periods
	return all
}

// invocationHeartbeat is that of a function's invocations.
func invocationHeartbeat(f Function) window {
	return heartbeat(f.Every + ceil(f.Timeout, time.Minute))
}

// measurementHeartbeat is that of lag's measurements, of which one may fail.
func measurementHeartbeat(f Function) window { return heartbeat(2 * f.Every) }

// failingRuns is the window of a failure that a single run may have, but not several
// of the last ones.
func failingRuns(f Function) window {
	runs, of := tolerance(f.Every)
	some := spread(time.Duration(of)*f.Every + ceil(f.Timeout, time.Minute) + late)
	some.datapoints = runs
	return some
}

// anyFailingRun is the window of a failure that is worth an alarm by itself, until
// a run has gone well.
func anyFailingRun(f Function) window {
	period := slow
	if f.Every > rangeMax {
		period = time.Hour
	}
	return window{period, int(ceil(f.Every, period) / period), 1}
}

// tolerance is how many of the last runs have to fail for an alarm. Rare runs
// cannot wait for the third.
func tolerance(every time.Duration) (runs, of int) {
	if every == time.Minute {
		return 3, 5
	}
	return 2, 3
}

// measurements is the window of what each run of lag measures.
func measurements(f Function) window {
	runs, of := tolerance(f.Every)
	some := spread(time.Duration(of) * f.Every)
	some.datapoints = runs
	return some
}

// anyMeasurement is the window of what lag has to measure only once, and which is
// over when it has not been measured for a while: a redrive of what fails again is
// one alarm, not many.
func anyMeasurement(f Function) window {
	some := spread(3 * f.Every)
	some.datapoints = 1
	return some
}

// sustained is the window of what lag has measured for so long, with some
// measurements that are missing or say otherwise.
func sustained(f Function, span time.Duration) window {
	some := spread(span * 5 / 4)
	some.datapoints = int(max(1, span/f.Every))
	return some
}

// slow is the period of what need not be known to the minute.
const slow = 5 * time.Minute

// rangeMax is how far back CloudWatch looks by periods that are shorter than
// an hour.
const rangeMax = 24 * time.Hour

// spread divides a time into periods of a minute, or of an hour where these would
// be too many.
func spread(span time.Duration) window {
	period := time.Minute
	if span > rangeMax {
		period = time.Hour
	}
	return window{period: period, periods: int(ceil(span, period) / period)}
}

// ceil is a duration rounded up to a multiple.
func ceil(d, multiple time.Duration) time.Duration {
	return (d + multiple - 1).Truncate(multiple)
}
