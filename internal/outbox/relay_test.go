package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

func TestRelayPublishesEveryEventOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(5_000, 1, "b")...), newPublisher()
		publisher.latency = func() time.Duration { return 20 * time.Millisecond }

		report, err := drain(t, store, publisher, config(), time.Minute)

		require.NoError(t, err)
		require.Equal(t, 5_000, report.Published)
		require.Equal(t, outbox.Drained, report.Stopped)
		require.Equal(t, seqs(1, 5_000), store.published())
		require.Empty(t, publisher.acceptedAgain())
		require.Empty(t, store.locked())
		require.Zero(t, store.open, "a session was left open")
	})
}

func TestRelayEndsAtOnceWhenThereIsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		report, err := drain(t, store, newPublisher(), config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, outbox.Report{Stopped: outbox.Drained}, report)
		require.Len(t, store.claims, 1, "the first claim is one from the front")
		require.Equal(t, 1, store.connects, "an idle outbox costs one connection")
	})
}

func TestRelayMarksExactlyTheAcceptedEntries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(10, 1, "b")...), newPublisher()
		refused := []int64{2, 5, 10}
		publisher.verdict = func(event outbox.Event) outbox.Outcome {
			if slices.Contains(refused, event.Seq) && event.Attempts == 0 {
				return outbox.Outcome{Verdict: outbox.Transient, Code: "InternalFailure", Message: "try again"}
			}
			return outbox.Outcome{Verdict: outbox.Accepted}
		}

		report, err := drain(t, store, publisher, config(), time.Minute)
		require.NoError(t, err, "a transient failure beside progress is no error")
		require.Equal(t, 7, report.Published)
		require.Equal(t, 3, report.Deferred)
		require.Equal(t, refused, store.pending())
		require.Equal(t, "InternalFailure: try again", store.row(5).reason)
		require.Equal(t, 1, store.row(5).Attempts)

		time.Sleep(2 * time.Second)
		report, err = drain(t, store, publisher, config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 3, report.Published)
		require.Empty(t, store.pending())
		require.Empty(t, publisher.acceptedAgain())
	})
}

func TestRelayBacksOffAnEntryLongerEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(1, 1, "b")...), newPublisher()
		publisher.verdict = func(outbox.Event) outbox.Outcome {
			return outbox.Outcome{Verdict: outbox.Transient, Code: "InternalFailure"}
		}
		for attempt := range 12 {
			_, err := drain(t, store, publisher, config(), time.Minute)
			require.NoError(t, err)
			longest := min(time.Second<<attempt, 5*time.Minute)
			delay := time.Until(store.row(1).retryAt)
			require.GreaterOrEqual(t, delay, longest/2)
			require.LessOrEqual(t, delay, longest)
			time.Sleep(delay)
		}
		require.Equal(t, 12, publisher.mostSent())
		require.Empty(t, store.failed(), "a known transient code never makes an event fail")
	})
}

func TestRelayFailsAnUnknownCodeAfterMaxAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(1, 1, "b")...), newPublisher()
		publisher.verdict = func(outbox.Event) outbox.Outcome {
			return outbox.Outcome{Verdict: outbox.Unknown, Code: "NewCode", Message: "what is it"}
		}
		config := config()
		config.MaxAttempts = 3
		for range 2 {
			_, err := drain(t, store, publisher, config, time.Minute)
			require.NoError(t, err)
			require.Empty(t, store.failed())
			time.Sleep(time.Minute)
		}
		report, err := drain(t, store, publisher, config, time.Minute)
		require.NoError(t, err)
		require.Equal(t, 1, report.Failed)
		require.Equal(t, outbox.Failure{Seq: 1, Code: "NewCode", Message: "what is it"}, *store.row(1).failed)
	})
}

func TestRelayStepsPastPoisonAtTheHead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.BatchSize = 100
		store, publisher := newStore(events(400, 1, "b")...), newPublisher()
		publisher.poison = func(event outbox.Event) bool { return event.Seq <= 300 && event.Seq%2 == 0 }
		publisher.verdict = func(event outbox.Event) outbox.Outcome {
			if event.Seq <= 300 {
				return outbox.Outcome{Verdict: outbox.Poison, Code: "InvalidArgument", Message: "never"}
			}
			return outbox.Outcome{Verdict: outbox.Accepted}
		}
		report, err := drain(t, store, publisher, config, time.Minute)
		require.NoError(t, err)
		require.Equal(t, 100, report.Published)
		require.Equal(t, 300, report.Failed)
		require.Equal(t, seqs(301, 400), store.published())
		require.Equal(t, seqs(1, 300), store.failed())
		require.Equal(t, "MalformedDetail", store.row(2).failed.Code)
		require.Equal(t, "InvalidArgument", store.row(3).failed.Code)
	})
}

func TestRelayLeavesRowsOfAnOutageUnwritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(1_000, 1, "b")...), newPublisher()
		publisher.answer = func(outbox.Request) error { return unavailable() }

		began := time.Now()
		report, err := drain(t, store, publisher, config(), 2*time.Minute)

		require.ErrorContains(t, err, "bus b: no request went through in the last 5 tries")
		require.ErrorContains(t, err, "ServiceUnavailable: try later")
		require.Zero(t, report.Published)
		require.LessOrEqual(t, publisher.mostSent(), 5, "a row is sent at most five times in a run")
		require.Greater(t, time.Since(began), 5*time.Second, "the bus is given longer and longer rests")
		require.Len(t, store.pending(), 1_000)
		for _, seq := range store.pending() {
			row := store.row(seq)
			require.Zero(t, row.Attempts)
			require.Zero(t, row.retryAt)
			require.Empty(t, row.reason)
		}
	})
}

func TestRelayPublishesInTheSameRunOnceTheBusIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(1_000, 1, "b")...), newPublisher()
		back := time.Now().Add(2 * time.Second)
		publisher.answer = func(outbox.Request) error {
			if time.Now().Before(back) {
				return unavailable()
			}
			return nil
		}
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 1_000, report.Published)
		require.Less(t, report.Duration, 10*time.Second)
		require.Empty(t, publisher.acceptedAgain())
	})
}

func TestRelayTriesOneRequestOnABusThatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.Workers = 1
		store, publisher := newStore(events(64, 1, "b")...), newPublisher()
		publisher.answer = func(outbox.Request) error { return unavailable() }
		publisher.latency = func() time.Duration { return time.Millisecond }
		_, err := drain(t, store, publisher, config, time.Minute)
		require.Error(t, err)
		require.Len(t, publisher.requests, 7+4, "all of a first batch, then one a round")
	})
}

func TestRelayKeepsOtherBusesFlowing(t *testing.T) {
	t.Parallel()
	faults := map[string]func(p *fakePublisher){
		"Unavailable": func(p *fakePublisher) {
			p.answer = func(request outbox.Request) error {
				if request.Bus == "bad" {
					return unavailable()
				}
				return nil
			}
		},
		"Forbidden": func(p *fakePublisher) {
			p.answer = func(request outbox.Request) error {
				if request.Bus == "bad" {
					return &outbox.RequestError{Fault: outbox.Forbidden, Code: "AccessDeniedException", Message: "no"}
				}
				return nil
			}
		},
		"Denied": func(p *fakePublisher) {
			p.verdict = func(event outbox.Event) outbox.Outcome {
				if event.Bus == "bad" {
					return outbox.Outcome{Verdict: outbox.Denied, Code: "AccessDeniedException", Message: "no"}
				}
				return outbox.Outcome{Verdict: outbox.Accepted}
			}
		},
		"MissingBus": func(p *fakePublisher) {
			p.check = func(bus string) error {
				if bus == "bad" {
					return &outbox.RequestError{Fault: outbox.Forbidden, Code: "ResourceNotFoundException", Message: "no such bus"}
				}
				return nil
			}
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, publisher := newStore(events(2_000, 1, "bad")...), newPublisher()
				store.insert(events(2_000, 2_001, "good")...)
				fault(publisher)

				report, err := drain(t, store, publisher, config(), time.Minute)

				require.ErrorContains(t, err, "bus bad: ", "an alarm has to hear of it")
				require.Equal(t, 2_000, report.Published)
				require.Equal(t, seqs(2_001, 4_000), store.published())
				require.Equal(t, seqs(1, 2_000), store.pending())
				require.Empty(t, store.failed())
				require.Zero(t, store.row(1).Attempts)
				require.LessOrEqual(t, publisher.mostSent(), 5)
			})
		})
	}
}

func TestRelaySplitsARefusedRequestUntilTheCulpritStandsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(40, 1, "b")...), newPublisher()
		publisher.answer = func(request outbox.Request) error {
			for _, entry := range request.Entries {
				if entry.Event.Seq == 13 && len(request.Entries) > 1 {
					return &outbox.RequestError{Fault: outbox.Refused, Code: "ValidationException", Message: "too large"}
				}
			}
			return nil
		}
		publisher.verdict = func(event outbox.Event) outbox.Outcome {
			if event.Seq == 13 {
				return outbox.Outcome{Verdict: outbox.Poison, Code: "ValidationException", Message: "too large"}
			}
			return outbox.Outcome{Verdict: outbox.Accepted}
		}
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 39, report.Published)
		require.Equal(t, []int64{13}, store.failed())
		require.Empty(t, publisher.acceptedAgain())
	})
}

func TestRelayFreesTheOthersOfARowThatFailsItsRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.PollInterval = time.Second
		store, publisher := newStore(events(200, 1, "b")...), newPublisher()
		for i := range 20 {
			time.AfterFunc(time.Duration(i)*time.Second, func() { store.insert(events(10, int64(201+10*i), "b")...) })
		}
		publisher.answer = func(request outbox.Request) error {
			for _, entry := range request.Entries {
				if entry.Event.Seq == 13 {
					return unavailable()
				}
			}
			return nil
		}
		report, err := drain(t, store, publisher, config, time.Minute)
		require.ErrorContains(t, err, "event with seq 13: its request failed 5 times while others went through")
		require.Equal(t, 399, report.Published)
		require.Equal(t, []int64{13}, store.pending())
		require.Zero(t, store.row(13).Attempts)
		require.LessOrEqual(t, publisher.mostSent(), 15, "with growing pauses")
	})
}

func TestRelayBlamesNoRowForAnOutageThatBeginsInABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(60, 1, "b")...), newPublisher()
		down := time.Time{}
		publisher.answer = func(outbox.Request) error {
			if down.IsZero() {
				down = time.Now()
				return nil
			}
			if time.Since(down) < 3*time.Second {
				return unavailable()
			}
			return nil
		}
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 60, report.Published)
		require.LessOrEqual(t, publisher.mostSent(), 5)
	})
}

func TestRelayComesBackToABusHoweverLongItWasAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.PollInterval = time.Second
		store, publisher := newStore(events(1_000, 1, "b")...), newPublisher()
		back := time.Now().Add(5 * time.Minute)
		publisher.answer = func(outbox.Request) error {
			if time.Now().Before(back) {
				return unavailable()
			}
			return nil
		}
		report, err := drain(t, store, publisher, config, 15*time.Minute)
		require.NoError(t, err)
		require.Equal(t, 1_000, report.Published)
	})
}

func TestRelayEndsAPollingRunWhenAnOperatorHasToAct(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.PollInterval = time.Second
		store, publisher := newStore(events(10, 1, "b")...), newPublisher()
		publisher.answer = func(outbox.Request) error {
			return &outbox.RequestError{Fault: outbox.Forbidden, Code: "AccessDeniedException", Message: "no"}
		}
		report, err := drain(t, store, publisher, config, 15*time.Minute)
		require.ErrorContains(t, err, "AccessDeniedException")
		require.Less(t, report.Duration, time.Minute, "an alarm cannot wait for the end of the budget")
	})
}

func TestRelayCondemnsALoneRefusalOnlyWhenTheBusTakesOthers(t *testing.T) {
	t.Parallel()
	refused := func(bad func(seq int64) bool) *fakePublisher {
		publisher := newPublisher()
		publisher.answer = func(request outbox.Request) error {
			for _, entry := range request.Entries {
				if bad(entry.Event.Seq) && len(request.Entries) > 1 {
					return &outbox.RequestError{Fault: outbox.Refused, Code: "ValidationException", Message: "no"}
				}
			}
			return nil
		}
		publisher.verdict = func(event outbox.Event) outbox.Outcome {
			if bad(event.Seq) {
				return outbox.Outcome{Verdict: outbox.Poison, Code: "ValidationException", Message: "no", Doubtful: true}
			}
			return outbox.Outcome{Verdict: outbox.Accepted}
		}
		return publisher
	}
	t.Run("OneRow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := newStore(events(20, 1, "b")...)
			publisher := refused(func(seq int64) bool { return seq == 1 })
			report, err := drain(t, store, publisher, config(), time.Minute)
			require.NoError(t, err)
			require.Equal(t, 19, report.Published)
			require.Equal(t, []int64{1}, store.failed())
		})
	})
	t.Run("AllRows", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := newStore(events(20, 1, "b")...)
			publisher := refused(func(int64) bool { return true })
			_, err := drain(t, store, publisher, config(), time.Minute)
			require.ErrorContains(t, err, "ValidationException")
			require.Empty(t, store.failed(), "a setting that is wrong for all is no row's fault")
			require.Len(t, store.pending(), 20)
			require.Zero(t, store.row(1).Attempts)
		})
	})
}

func TestRelayTakesAThrottledEntryBesideProgressForSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(10, 1, "b")...), newPublisher()
		publisher.verdict = func(event outbox.Event) outbox.Outcome {
			if event.Seq == 3 {
				return outbox.Outcome{Verdict: outbox.Transient, Code: "ThrottlingException", Throttled: true}
			}
			return outbox.Outcome{Verdict: outbox.Accepted}
		}
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 9, report.Published)
	})
}

func TestRelayStepsPastARowThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(300, 1, "b")...), newPublisher()
		store.unreadable = func(seq int64) bool { return seq == 7 }
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.ErrorContains(t, err, "event with seq 7: the database cannot read the row")
		require.Equal(t, 299, report.Published)
		require.Equal(t, []int64{7}, store.pending())
		require.Empty(t, store.failed(), "a claim that reads no text condemns nobody")
	})
}

func TestRelayBoundsTheListOfBusesInItsError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(), newPublisher()
		for i := range int64(3_000) {
			store.insert(events(1, i+1, fmt.Sprint("bus-", i))...)
		}
		publisher.check = func(string) error {
			return &outbox.RequestError{Fault: outbox.Forbidden, Code: "ResourceNotFoundException", Message: "no such bus"}
		}
		_, err := drain(t, store, publisher, config(), time.Minute)
		require.ErrorContains(t, err, "more like these")
		require.Less(t, len(err.Error()), 2_000)
		for _, claim := range store.claims {
			require.Less(t, len(claim.WithoutBuses), 2_000)
		}
	})
}

func TestRelayFindsTheRowThatFailsTheOnlyRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(10, 1, "b")...), newPublisher()
		publisher.answer = func(request outbox.Request) error {
			for _, entry := range request.Entries {
				if entry.Event.Seq == 4 {
					return unavailable()
				}
			}
			return nil
		}
		var err error
		for range 3 { // the probe is taken by lot: it can be the culprit itself
			_, err = drain(t, store, publisher, config(), time.Minute)
			require.Error(t, err)
		}
		require.Equal(t, []int64{4}, store.pending())
		require.Empty(t, publisher.acceptedAgain())
	})
}

func TestRelayIgnoresAnAdditionalWorkerThatCannotConnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(5_000, 1, "b")...), newPublisher()
		store.connect = func(attempt int) error {
			if attempt > 1 {
				return errConnection
			}
			return nil
		}
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 5_000, report.Published)
		require.Equal(t, 2, store.connects)
	})
}

func TestRelayDoesNotWaitForABusBeyondTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.Reserve = time.Second
		store, publisher := newStore(events(10, 1, "b")...), newPublisher()
		store.wait = func() { time.Sleep(4 * time.Second) }
		publisher.checkCtx = func(ctx context.Context) error {
			<-ctx.Done()
			return unavailable()
		}
		began := time.Now()
		_, err := drain(t, store, publisher, config, 12*time.Second)
		require.ErrorContains(t, err, "bus b: no request went through")
		require.LessOrEqual(t, time.Since(began), 11500*time.Millisecond)
	})
}

func TestRelayRefusesADeadlineTooNearForAnyWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newStore(events(1, 1, "b")...)
		_, err := drain(t, store, newPublisher(), config(), 10*time.Second)
		require.ErrorContains(t, err, "no time for any work")
		require.ErrorContains(t, err, "RELAY_RESERVE")
		require.Zero(t, store.connects)
	})
}

func TestRelayWithASlowBusEndsInTimeAndSendsNothingTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(10_000, 1, "b")...), newPublisher()
		publisher.latency = func() time.Duration { return 3 * time.Second }
		for range 5 {
			began := time.Now()
			report, err := drain(t, store, publisher, config(), 20*time.Second)
			require.NoError(t, err)
			require.Equal(t, outbox.OutOfTime, report.Stopped)
			require.Positive(t, report.Published)
			require.LessOrEqual(t, time.Since(began), 15*time.Second, "the reserve is kept")
		}
		require.Empty(t, publisher.acceptedAgain())
		require.Len(t, store.published(), len(publisher.accepted), "all that was accepted is recorded")
	})
}

func TestRelayBoundsTheRequestsInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.Workers, config.Concurrency = 4, 7
		store, publisher := newStore(events(5_000, 1, "a")...), newPublisher()
		store.insert(events(5_000, 5_001, "b")...)
		publisher.latency = func() time.Duration { return 20 * time.Millisecond }
		_, err := drain(t, store, publisher, config, time.Minute)
		require.NoError(t, err)
		require.Equal(t, 7, publisher.most)
	})
}

func TestRelayKeepsToTheRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.MaxRate = 100
		store, publisher := newStore(events(10_000, 1, "b")...), newPublisher()
		report, err := drain(t, store, publisher, config, time.Minute)
		require.NoError(t, err)
		require.Equal(t, outbox.OutOfTime, report.Stopped)
		require.InDelta(t, 100*50, report.Published, 700, "100 a second, for the minute less the reserve and the last request")
		require.LessOrEqual(t, float64(report.Published), 100*report.Duration.Seconds()+10)
		require.Empty(t, publisher.acceptedAgain())
	})
}

func TestRelayFollowsTheRateThatAThrottlingBusAllows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const allowed = 20
		store, publisher := newStore(events(50_000, 1, "b")...), newPublisher()
		var second time.Time
		taken, asked := 0, 0
		publisher.latency = func() time.Duration { return 5 * time.Millisecond }
		throttle := func() bool {
			if time.Since(second) >= time.Second {
				second, taken = time.Now(), 0
			}
			taken++
			return taken > allowed
		}
		entries := false
		publisher.answer = func(outbox.Request) error {
			asked++
			entries = false
			if !throttle() {
				return nil
			}
			if entries = asked%2 == 0; entries {
				return nil
			}
			return &outbox.RequestError{Fault: outbox.Throttled, Code: "ThrottlingException", Message: "slow down"}
		}
		publisher.verdict = func(outbox.Event) outbox.Outcome {
			if entries {
				return outbox.Outcome{Verdict: outbox.Transient, Code: "ThrottlingException", Throttled: true}
			}
			return outbox.Outcome{Verdict: outbox.Accepted}
		}
		for range 5 {
			report, err := drain(t, store, publisher, config(), time.Minute)
			require.NoError(t, err, "throttling is no error while there is progress")
			require.Greater(t, report.Published, int(0.8*allowed*10*report.Duration.Seconds()))
		}
		require.Empty(t, store.failed())
		require.Empty(t, publisher.acceptedAgain())
		require.Less(t, len(publisher.requests), 2*len(publisher.accepted)/10, "most requests go through")
	})
}

func TestRelayFailsWhenABusThrottlesEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(1_000, 1, "b")...), newPublisher()
		publisher.answer = func(outbox.Request) error {
			return &outbox.RequestError{Fault: outbox.Throttled, Code: "ThrottlingException", Message: "slow down"}
		}
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.ErrorContains(t, err, "bus b: everything was throttled")
		require.ErrorContains(t, err, "slow down")
		require.Zero(t, report.Published)
		require.LessOrEqual(t, publisher.mostSent(), 5)
		require.Len(t, store.pending(), 1_000)
		require.Zero(t, store.row(1).Attempts)
	})
}

func TestRelayBoundsABatchByItsBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.Workers = 1 // another might end and begin anew
		store, publisher := newStore(largeEvents(100)...), newPublisher()
		report, err := drain(t, store, publisher, config, time.Minute)
		require.NoError(t, err)
		require.Equal(t, 100, report.Published)
		require.GreaterOrEqual(t, report.Batches, 25)
		blind := 0 // claims that did not know how large the rows are
		for _, claim := range store.claims {
			if claim.Rows > 8 {
				blind++
			}
		}
		require.Equal(t, 1, blind, "a claim locks no more than twice what fits, but for the first")
	})
}

func TestRelayFindsRowsThatCommitBehindTheFloor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.PollInterval = 100 * time.Millisecond
		store, publisher := newStore(events(1_000, 1_001, "b")...), newPublisher()
		time.AfterFunc(10*time.Second, func() { store.insert(events(10, 1, "b")...) })
		var found time.Time
		publisher.verdict = func(event outbox.Event) outbox.Outcome {
			if event.Seq <= 10 && found.IsZero() {
				found = time.Now()
			}
			return outbox.Outcome{Verdict: outbox.Accepted}
		}
		began := time.Now()
		store.wait = func() { time.Sleep(time.Millisecond) }
		report, err := drain(t, store, publisher, config, time.Minute)
		require.NoError(t, err)
		require.Equal(t, outbox.OutOfTime, report.Stopped)
		require.Equal(t, 1_010, report.Published)
		require.Less(t, found.Sub(began), 10*time.Second+config.FrontScanMax+time.Second)
	})
}

func TestRelayStartsClaimsAtTheFloor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.Workers = 1
		store, publisher := newStore(events(20_000, 1, "b")...), newPublisher()
		store.wait = func() { time.Sleep(10 * time.Millisecond) }
		publisher.latency = func() time.Duration { return 10 * time.Millisecond }
		_, err := drain(t, store, publisher, config, time.Minute)
		require.NoError(t, err)
		fromFront := 0
		for _, claim := range store.claims {
			if claim.After < 0 {
				fromFront++
			}
		}
		require.Less(t, fromFront, len(store.claims)/4, "most claims start at the floor")
		require.GreaterOrEqual(t, fromFront, 2, "one at the start, one before it says drained")
	})
}

func TestRelayPollsUntilItsBudgetEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.PollInterval = time.Second
		store, publisher := newStore(), newPublisher()
		time.AfterFunc(30*time.Second, func() { store.insert(events(5, 1, "b")...) })
		report, err := drain(t, store, publisher, config, time.Minute)
		require.NoError(t, err)
		require.Equal(t, 5, report.Published)
		require.Equal(t, outbox.OutOfTime, report.Stopped)
		require.Greater(t, report.Duration, 45*time.Second)
		require.Less(t, len(store.claims), 60)
	})
}

func TestRelayStartsASecondWorkerOnlyForABacklog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		few, many := newStore(events(50, 1, "b")...), newStore(events(5_000, 1, "b")...)
		_, err := drain(t, few, newPublisher(), config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 1, few.connects)
		_, err = drain(t, many, newPublisher(), config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 2, many.connects)
	})
}

func TestRelayStopsWhenItsContextIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := config()
		config.PollInterval = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)
		began := time.Now()
		_, err := outbox.NewRelay(newStore(), newPublisher(), config, discard).Run(ctx)
		require.NoError(t, err)
		require.Equal(t, 10*time.Second, time.Since(began))
	})
}

func TestRelayReportsLatencies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		old := events(3, 1, "b")
		for i := range old {
			old[i].Age = time.Hour
		}
		publisher := newPublisher()
		publisher.latency = func() time.Duration { return 20 * time.Millisecond }
		report, err := drain(t, newStore(old...), publisher, config(), time.Minute)
		require.NoError(t, err)
		want := time.Hour + 20*time.Millisecond
		require.Equal(t, []time.Duration{want, want, want}, report.Latencies)
		require.Equal(t, []time.Duration{20 * time.Millisecond}, report.BatchDurations)

		report, err = drain(t, newStore(events(5_000, 1, "b")...), publisher, config(), time.Minute)
		require.NoError(t, err)
		require.Len(t, report.Latencies, 1_000, "memory does not grow with the backlog")
	})
}

func TestRelayReportsNoNegativeLatency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		future := events(1, 1, "b")
		future[0].Age = -time.Hour
		report, err := drain(t, newStore(future...), newPublisher(), config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{0}, report.Latencies)
	})
}
