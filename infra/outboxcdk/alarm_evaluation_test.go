package outboxcdk_test

import (
	"debug/elf"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/stretchr/testify/require"

	"outboxrelay/infra/cloudwatchtest"
	"outboxrelay/infra/outboxcdk"
)

// tempos are the schedules for which alarms have to fit, the default first.
var tempos = []tempo{
	newTempo("EveryMinute", time.Minute, time.Minute, 5*time.Minute, time.Minute),
	newTempo("EveryFiveMinutes", 5*time.Minute, 5*time.Minute, 5*time.Minute, time.Minute),
	newTempo("EveryFifteenMinutes", 15*time.Minute, 15*time.Minute, 15*time.Minute, time.Minute),
	newTempo("Polling", time.Minute, time.Minute, 5*time.Minute, 135*time.Second),
	newTempo("DailyCleanup", time.Minute, time.Minute, 24*time.Hour, time.Minute),
}

func newTempo(name string, relay, lag, cleanup, timeout time.Duration) tempo {
	run := 2 * time.Second
	if name == "Polling" {
		run = 70 * time.Second // until it sees the next one at work
	}
	return tempo{name, map[string]pulse{
		"Relay": {relay, timeout}, "Lag": {lag, 30 * time.Second},
		"Cleanup": {cleanup, time.Minute}, "Migrate": {24 * time.Hour, 14 * time.Minute},
	}, run}
}

// props are those of a tempo.
func (t tempo) props() outboxcdk.Props {
	props := minimalProps()
	props.BinaryDir = placeholders(elf.EM_AARCH64)
	props.Relay.Every, props.Lag.Every, props.Cleanup.Every = t.pulses["Relay"].every, t.pulses["Lag"].every, t.pulses["Cleanup"].every
	props.Environment = map[string]string{"PARTITION_INTERVAL": "day"}
	if t.name == "Polling" {
		props.Environment["RELAY_POLL_INTERVAL"] = "200ms"
	}
	return props
}

var tempoTemplates = func() map[string]func(*testing.T) template {
	templates := map[string]func(*testing.T) template{}
	for _, tempo := range tempos {
		templates[tempo.name] = once(func() template {
			return synthesize(func(stack awscdk.Stack) { outboxcdk.NewOutboxRelay(stack, "Outbox", tempo.props()) }, nil)
		})
	}
	return templates
}()

// metricAlarms are those of a template, by the ids of their constructs, as are the
// functions in them.
func metricAlarms(t *testing.T, of template) []cloudwatchtest.MetricAlarm {
	t.Helper()
	names := map[string]string{}
	for id := range of.root["Resources"].(object) {
		names[id] = construct(id)
	}
	group := of.resources("AWS::Scheduler::ScheduleGroup")[0]
	names[group.properties["Name"].(string)] = construct(group.id)
	alarms, err := cloudwatchtest.Parse([]byte(text(t, of.root)), names)
	require.NoError(t, err)
	return alarms
}

var logicalID = regexp.MustCompile(`^Outbox(\w+?)[0-9A-F]{8}$`)

// construct is the id of the construct that has a logical id.
func construct(logical string) string { return logicalID.ReplaceAllString(logical, "$1") }

// readings are what CloudWatch may do.
var readings = []cloudwatchtest.Reading{
	{}, {FillsNothing: true}, {Extra: 2}, {Extra: 4, Aligned: true, FillsNothing: true},
}

var midnight = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// eachTempo runs a test for the alarms of each schedule.
func eachTempo(t *testing.T, test func(t *testing.T, tempo tempo, alarms []cloudwatchtest.MetricAlarm)) {
	t.Helper()
	for _, tempo := range tempos {
		t.Run(tempo.name, func(t *testing.T) {
			alarms := metricAlarms(t, tempoTemplates[tempo.name](t))
			require.Len(t, alarms, 18)
			test(t, tempo, alarms)
		})
	}
}

// read is each alarm by each reading.
func read(alarms []cloudwatchtest.MetricAlarm) iter.Seq2[cloudwatchtest.MetricAlarm, cloudwatchtest.Reading] {
	return func(yield func(cloudwatchtest.MetricAlarm, cloudwatchtest.Reading) bool) {
		for _, alarm := range alarms {
			for _, reading := range readings {
				if !yield(alarm, reading) {
					return
				}
			}
		}
	}
}

// The tests take for granted what the functions are deployed with.
func TestTheTemposAreThoseOfTheTemplates(t *testing.T) {
	for _, tempo := range tempos {
		for _, function := range tempoTemplates[tempo.name](t).resources("AWS::Lambda::Function") {
			if pulse, is := tempo.pulses[construct(function.id)]; is {
				require.InDelta(t, pulse.timeout.Seconds(), function.properties["Timeout"], 0, function.id)
			}
		}
	}
}

// For each row of the table: the alarms that it promises ring in time, they stay
// on until it is mended, go off then, and no others ring.
func TestEachDeathIsHeardInTime(t *testing.T) {
	for _, death := range deaths {
		t.Run(strings.ReplaceAll(death.what, " ", "_"), func(t *testing.T) {
			eachTempo(t, func(t *testing.T, tempo tempo, alarms []cloudwatchtest.MetricAlarm) {
				t.Helper()
				told(t, death, tempo, alarms)
			})
		})
	}
}

func told(t *testing.T, death death, tempo tempo, alarms []cloudwatchtest.MetricAlarm) {
	t.Helper()
	died := midnight.Add(24 * time.Hour)
	mended := died.Add(death.duration(tempo))
	world := world{tempo: tempo, late: 50 * time.Second, seed: uint64(len(death.what)), at: func(now time.Time) condition {
		if now.Before(died) || !now.Before(mended) {
			return condition{}
		}
		return death.is(now.Sub(died))
	}}
	end := mended.Add(death.aftermath(tempo))
	metrics := world.metrics(died.Add(-24*time.Hour), end)
	promised := world.start(death.of, died).Add(death.within(tempo) + time.Minute).Truncate(time.Minute) // when CloudWatch looks
	for alarm, reading := range read(alarms) {
		history := alarm.History(metrics, died.Add(-time.Hour), end, reading)
		about := fmt.Sprintf("%s, %+v, died %v, promised %v: %+v", alarm.Name, reading, died, promised, history)
		switch {
		case slices.Contains(death.rings, alarm.Name):
			require.Len(t, history, 2, about)
			require.False(t, history[0].At.Before(died), about)
			require.False(t, history[0].At.After(promised), about)
			require.False(t, history[1].At.Before(mended), about)
		case slices.Contains(death.later, alarm.Name):
			require.Len(t, history, 2, about)
			require.True(t, history[0].At.Before(mended), about)
		case slices.Contains(death.perhaps, alarm.Name):
			require.Zero(t, len(history)%2, "it is over in the end: %s", about)
		default:
			require.Empty(t, history, about)
		}
	}
}

// Nothing rings when all is well, and well is not perfect: what is written may be
// seen two minutes late, Scheduler picks another second each time, each run is long.
func TestNothingRingsWhenAllIsWell(t *testing.T) {
	hiccup := func(what fate) func(int) condition {
		return func(minute int) condition {
			if minute%240 < 1 {
				return condition{fates: all(what, "Relay", "Lag", "Cleanup")}
			}
			return condition{}
		}
	}
	for name, is := range map[string]func(minute int) condition{
		"Quiet": func(int) condition { return condition{} },
		"AnAppThatWritesNothing": func(int) condition {
			return condition{measured: map[string]float64{"OldestUnpublishedAge": 0, "OldestPublishedAge": 0}}
		},
		"ARunFails": hiccup(fails),
		"ARunHangs": hiccup(hangs),
		"ARunIsThrottled": func(minute int) condition {
			if minute%60 == 0 {
				return condition{fates: all(delayed, "Relay", "Lag", "Cleanup")}
			}
			return condition{}
		},
		"AFailover": func(minute int) condition { // takes two minutes
			if minute%240 < 2 {
				return condition{fates: all(fails, "Relay", "Lag", "Cleanup")}
			}
			return condition{}
		},
		"APauseOfHalfAnHour": func(minute int) condition {
			if minute%240 < 30 {
				return condition{measured: map[string]float64{"PausedEvents": 9, "OldestTransactionAge": 1800}}
			}
			return condition{}
		},
		"ABurst": func(minute int) condition { // of which the oldest is four minutes old
			if minute%240 < 10 {
				return condition{measured: map[string]float64{"OldestUnpublishedAge": 240}}
			}
			return condition{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachTempo(t, func(t *testing.T, tempo tempo, alarms []cloudwatchtest.MetricAlarm) {
				t.Helper()
				late := 2 * time.Minute
				if name == "AFailover" { // not both at once
					late = 50 * time.Second
				}
				for _, busy := range []bool{false, true} {
					world := world{tempo: tempo, late: late, busy: busy, seed: 7, at: func(now time.Time) condition {
						return is(int(now.Sub(midnight).Minutes()))
					}}
					metrics := world.metrics(midnight.Add(-time.Hour), midnight.Add(9*time.Hour))
					for alarm, reading := range read(alarms) {
						require.Empty(t, alarm.History(metrics, midnight.Add(time.Hour), midnight.Add(9*time.Hour), reading), "%s, %+v, busy %v", alarm.Name, reading, busy)
					}
				}
			})
		})
	}
}

// What looks back by hours has to see days.
func TestNothingRingsFromDayToDay(t *testing.T) {
	eachTempo(t, func(t *testing.T, tempo tempo, alarms []cloudwatchtest.MetricAlarm) {
		t.Helper()
		for _, busy := range []bool{false, true} {
			world := world{tempo: tempo, late: 2 * time.Minute, busy: busy, seed: 11, at: func(time.Time) condition { return condition{} }}
			metrics := world.metrics(midnight, midnight.Add(100*time.Hour))
			for alarm, reading := range read(alarms) {
				if alarm.Period == time.Hour {
					require.Empty(t, alarm.History(metrics, midnight.Add(2*time.Hour), midnight.Add(100*time.Hour), reading), "%s, %+v", alarm.Name, reading)
				}
			}
		}
	})
}

// Scheduler tells a failure by one metric or another, and of the others there may
// never have been anything.
func TestEachMetricOfSchedulerIsHeardByItself(t *testing.T) {
	heardBy := map[string]string{
		"TargetErrorCount": "SchedulesFail", "InvocationDroppedCount": "SchedulesDrop", "InvocationsFailedToBeSentToDeadLetterCount": "UndeliveredLost",
	}
	eachTempo(t, func(t *testing.T, tempo tempo, alarms []cloudwatchtest.MetricAlarm) {
		t.Helper()
		every := tempo.pulses["Relay"].every
		for name, hears := range heardBy {
			metrics := cloudwatchtest.Metrics{}
			for at := midnight; at.Before(midnight.Add(time.Hour)); at = at.Add(every) {
				metrics.Put(scheduler(name), at, at, 1)
			}
			for alarm, reading := range read(alarms) {
				if alarm.Name == hears {
					history := alarm.History(metrics, midnight, midnight.Add(3*time.Hour), reading)
					require.NotEmpty(t, history, "%s, %+v", name, reading)
					require.False(t, history[0].At.After(midnight.Add(2*every+3*time.Minute)), "%s, %+v: %+v", name, reading, history)
				}
			}
		}
	})
}

// Before the first run there is nothing: heartbeats ring once, as they should.
func TestAFirstDeploymentIsOverOnceSomethingRuns(t *testing.T) {
	eachTempo(t, func(t *testing.T, tempo tempo, alarms []cloudwatchtest.MetricAlarm) {
		t.Helper()
		world := world{tempo: tempo, late: time.Minute, seed: 3, at: func(time.Time) condition { return condition{} }}
		metrics := world.metrics(midnight, midnight.Add(3*time.Hour))
		for alarm, reading := range read(alarms) {
			history := alarm.History(metrics, midnight.Add(-time.Minute), midnight.Add(3*time.Hour), reading)
			if !slices.Contains([]string{"RelayNotInvoked", "LagMissing", "MigrateNotInvoked"}, alarm.Name) {
				require.Empty(t, history, alarm.Name)
				continue
			}
			over := 6 * time.Minute
			if reading.Aligned && alarm.Period > over { // and the period has to end
				over = alarm.Period
			}
			require.Len(t, history, 2, alarm.Name)
			require.False(t, history[1].At.After(midnight.Add(over)), "%s: %+v", alarm.Name, history)
		}
	})
}

// The table in the docs is this one, with the times of the default schedules.
func TestTheDocsHaveTheTableOfDeaths(t *testing.T) {
	var table strings.Builder
	table.WriteString("| what happens | what rings | within | and later | what mends it | as shown by |\n|---|---|---|---|---|---|\n")
	for _, death := range deaths {
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %s |\n",
			death.what, code(death.rings), inWords(death.within(tempos[0])), code(death.later), death.mend, code(death.shown))
	}
	document, err := os.ReadFile("../../docs/operation.md")
	require.NoError(t, err)
	require.Contains(t, string(document), table.String())
}

// That a run fails, and does not hang or lose events, is for the tests of the
// functions to show, and for the faults that are tried.
func TestWhatTheTableSaysOfFunctionsIsShownByTheirTests(t *testing.T) {
	faults, err := os.ReadFile("../../docs/faults.md")
	require.NoError(t, err)
	for _, death := range deaths {
		for _, shown := range death.shown {
			directory, name, isTest := strings.Cut(shown, ".")
			if !isTest {
				require.Contains(t, string(faults), "\n| "+shown+" |")
				continue
			}
			require.True(t, hasTest(t, directory, name), shown)
		}
	}
}

// hasTest looks for a test among those of a function, or of the faults.
func hasTest(t *testing.T, directory, name string) bool {
	t.Helper()
	parent := "../../functions/"
	if directory == "faults" {
		parent = "../../internal/"
	}
	files, err := filepath.Glob(parent + directory + "/*_test.go")
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		source, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(source), "\nfunc "+name+"(t *testing.T) {")
	})
}

// Two rows of the same alarms and the same fates differ by what mends them, or
// they are one.
func TestNoTwoDeathsAreTheSame(t *testing.T) {
	seen := map[string]string{}
	for _, death := range deaths {
		same := fmt.Sprint(death.is(time.Hour), death.mend)
		require.NotContains(t, seen, same, "%s is %s", death.what, seen[same])
		seen[same] = death.what
	}
}

func code(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = "`" + name + "`"
	}
	return strings.Join(quoted, ", ")
}

func inWords(d time.Duration) string {
	if hours := int(d.Hours()); hours > 1 {
		return fmt.Sprintf("%d h %d min", hours, int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d min", int(d.Minutes()))
}

// Every alarm is of use: there is a death that it tells.
func TestEachAlarmHasADeath(t *testing.T) {
	told := map[string]bool{}
	for _, death := range deaths {
		for _, name := range slices.Concat(death.rings, death.later) {
			told[name] = true
		}
	}
	var names []string
	for _, alarm := range metricAlarms(t, tempoTemplates["EveryMinute"](t)) {
		names = append(names, alarm.Name)
	}
	require.ElementsMatch(t, names, slices.Collect(maps.Keys(told)))
}
