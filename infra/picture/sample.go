package picture

import (
	"fmt"
	"math"
)

// The sample is a morning: from 10:00 on the bus refuses access for eight minutes,
// before that a bus is paused for a while, and at the end three events have failed.
const (
	minutes    = 180
	pausedFrom = 25
	pausedTo   = 38
	deniedFrom = 60
	deniedTo   = 68
	failedFrom = 150
)

// ringing are the alarms that are on at the end of the sample.
var ringing = map[string]bool{"Unhealthy": true, "FailedEvents": true}

// sample has a value for each minute of a metric; NaN: none.
func sample(name, dimension, statistic string) ([]float64, error) {
	value, found := samples[name+" "+dimension]
	if !found {
		value, found = samples[name]
	}
	if !found {
		return nil, fmt.Errorf("metric %s of %s has no sample data: give it some in sample.go", name, dimension)
	}
	values := make([]float64, minutes)
	for minute := range values {
		values[minute] = value(minute)
		if statistic == "p99" {
			values[minute] *= 2.6 + 0.8*noise(minute, 9)
		}
	}
	return values, nil
}

var samples = map[string]func(minute int) float64{
	"OldestUnpublishedAge": func(m int) float64 { return denied(m)*60 + 1 + 2*noise(m, 1) },
	"UnpublishedEvents":    func(m int) float64 { return math.Round(denied(m)*rate(m) + 40*noise(m, 2)) },
	"EventsPublished":      published,
	"EventsFailed":         func(m int) float64 { return only(m == failedFrom, 3) },
	"EventsDeferred":       func(m int) float64 { return only(noise(m, 3) > 0.93, 12) },
	"PublishLatency":       latency,
	"BatchDuration":        func(m int) float64 { return 55 * (0.8 + 0.5*noise(m, 5)) },
	"FailedEvents":         func(m int) float64 { return only(m > failedFrom, 3) },
	"PausedEvents": func(m int) float64 {
		return only(m >= pausedFrom && m < pausedTo, math.Round(float64(m-pausedFrom)*31))
	},
	"OldestPublishedAge":   func(m int) float64 { return 7*86_400 + float64(m%5)*60 + 20*noise(m, 6) },
	"RowsDeleted":          func(m int) float64 { return every(5, m, math.Round(5*rate(m))) },
	"DeadRows":             func(m int) float64 { return math.Round(float64(m%22)*1900 + 2000*noise(m, 7)) },
	"OldestTransactionAge": func(m int) float64 { return 2*noise(m, 8) + only(m > 95 && m < 118, float64(m-95)*60) },

	"TargetErrorCount":                           func(int) float64 { return 0 },
	"InvocationDroppedCount":                     func(int) float64 { return 0 },
	"InvocationsFailedToBeSentToDeadLetterCount": func(int) float64 { return 0 },
	"AsyncEventsDropped":                         errorsOfRelay,
	"ApproximateNumberOfMessagesVisible":         func(int) float64 { return 0 },

	"Errors Relay":     errorsOfRelay,
	"Errors Lag":       func(int) float64 { return 0 },
	"Errors Cleanup":   func(m int) float64 { return every(5, m, 0) },
	"Errors Migrate":   rarely,
	"Errors Admin":     rarely,
	"Duration Relay":   func(m int) float64 { return 1800 + 900*noise(m, 10) + only(m == deniedTo, 21_000) },
	"Duration Lag":     func(m int) float64 { return 60 + 40*noise(m, 11) },
	"Duration Cleanup": func(m int) float64 { return every(5, m, 4200+1500*noise(m, 12)) },
	"Duration Migrate": rarely,
	"Duration Admin":   func(m int) float64 { return only(m == 26 || m == 38, 240) + only(m != 26 && m != 38, math.NaN()) },
	"Throttles":        func(int) float64 { return 0 },
	"Throttles Relay":  func(m int) float64 { return only(m == 121, 1) },
}

// rate is how many events are written in a minute.
func rate(m int) float64 {
	return 2400 + 900*math.Sin(float64(m)/29) + 500*noise(m, 13)
}

// published catches up after the bus has let the relay in again.
func published(m int) float64 {
	switch {
	case m >= deniedFrom && m < deniedTo:
		return 0
	case m == deniedTo:
		return math.Round(float64(deniedTo-deniedFrom+1) * rate(m))
	default:
		return math.Round(rate(m))
	}
}

// latency is 0 while nothing is published, and what has waited comes at once.
func latency(m int) float64 {
	if m >= deniedFrom && m < deniedTo {
		return 0
	}
	return 900*(0.6+noise(m, 4)) + only(m == deniedTo, 150_000)
}

func errorsOfRelay(m int) float64 { return only(m >= deniedFrom && m < deniedTo, 1) }

// denied is for how many minutes the bus has refused access.
func denied(m int) float64 { return only(m >= deniedFrom && m <= deniedTo, float64(m-deniedFrom)) }

func rarely(int) float64 { return math.NaN() }

func every(n, m int, value float64) float64 {
	if m%n != 0 {
		return math.NaN()
	}
	return value
}

// only is a value where something is so, else 0.
func only(is bool, value float64) float64 {
	if !is {
		return 0
	}
	return value
}

// noise is from 0 to 1, always the same for a minute and a kind.
func noise(minute, kind int) float64 {
	_, fraction := math.Modf(math.Abs(math.Sin(float64(minute*131+kind*977)) * 9973))
	return fraction
}
