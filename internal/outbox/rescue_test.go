package outbox_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

func TestRelayRecordsAcceptedEventsOnANewSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(1_000, 1, "b")...), newPublisher()
		settlings := 0
		store.settle = func(outbox.Settlement) error {
			settlings++
			if settlings == 2 {
				return errConnection
			}
			return nil
		}
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 1_000, report.Published)
		require.Empty(t, store.pending())
		require.Empty(t, publisher.acceptedAgain(), "nothing had to be sent again")
	})
}

// The rows of a batch that is at the bus are free once its session has ended, and
// the worker does not know. Another worker of the run comes by, and sends none of
// them a second time.
func TestRelayLeavesWhatAnotherWorkerHasInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(64, 1, "slow")...), newPublisher()
		store.insert(events(2_000, 65, "b")...)
		publisher.latencyOf = func(request outbox.Request) time.Duration {
			if request.Bus == "slow" {
				return 4 * time.Second
			}
			return 100 * time.Millisecond
		}
		time.AfterFunc(time.Second, store.endSessions)

		report, err := drain(t, store, publisher, config(), time.Minute)

		require.NoError(t, err)
		require.Equal(t, 2_064, report.Published)
		require.Empty(t, store.pending())
		require.Empty(t, publisher.acceptedAgain())
	})
}

func TestRelayIsolatesARowWhoseOutcomeCannotBeRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(200, 1, "b")...), newPublisher()
		refuse := func(settlement outbox.Settlement) error {
			if slices.Contains(settlement.Published, 7) {
				return fmt.Errorf("%w: row 7 is guarded by a trigger", outbox.ErrRefused)
			}
			return nil
		}
		store.settle, store.record = refuse, refuse

		report, err := drain(t, store, publisher, config(), time.Minute)

		require.ErrorContains(t, err, "event with seq 7")
		require.ErrorContains(t, err, "row 7 is guarded by a trigger")
		require.Equal(t, 199, report.Published)
		require.Equal(t, []int64{7}, store.pending())
		require.Equal(t, 1, publisher.mostSent(), "also the row that cannot be recorded is sent once a run")
	})
}

func TestRelayGivesUpWhenNothingCanBeRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(5_000, 1, "b")...), newPublisher()
		refuse := func(outbox.Settlement) error { return fmt.Errorf("%w: no right to update", outbox.ErrRefused) }
		store.settle, store.record = refuse, refuse
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.ErrorContains(t, err, "no right to update")
		require.ErrorContains(t, err, "could not all be recorded")
		require.Zero(t, report.Published)
		require.Less(t, len(publisher.accepted), 1_000, "it does not publish the whole backlog unrecorded")
	})
}

func TestRelaySendsAnEventWhoseMarkIsDroppedOnceARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(20, 1, "b")...), newPublisher()
		store.drops = func(seq int64) bool { return seq == 7 }
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.ErrorContains(t, err, "event with seq 7")
		require.ErrorContains(t, err, "dropped the change")
		require.Equal(t, 19, report.Published)
		require.Equal(t, []int64{7}, store.pending())
		require.Equal(t, 1, publisher.mostSent())
	})
}

func TestRelayGetsPastManyRowsThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(1_000, 1, "b")...), newPublisher()
		refuse := func(settlement outbox.Settlement) error {
			for _, seq := range settlement.Published {
				if seq <= 200 {
					return fmt.Errorf("%w: guarded", outbox.ErrRefused)
				}
			}
			for _, d := range settlement.Deferred {
				if d.Seq%2 == 0 {
					return fmt.Errorf("%w: guarded", outbox.ErrRefused)
				}
			}
			return nil
		}
		store.settle, store.record = refuse, refuse
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.ErrorContains(t, err, "and 197 more like these")
		require.Equal(t, 800, report.Published)
		require.Equal(t, seqs(201, 1_000), store.published())
		require.Equal(t, 1, publisher.mostSent())
		require.Equal(t, 5*time.Minute, store.row(1).retryAt.Sub(time.Now().Add(-report.Duration)).Round(time.Minute),
			"where the store takes it, the next runs leave the row alone too")
	})
}

func TestRelayFailsWhenTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newStore(events(10, 1, "b")...)
		store.connect = func(int) error { return errConnection }
		report, err := drain(t, store, newPublisher(), config(), time.Minute)
		require.ErrorIs(t, err, errConnection)
		require.Zero(t, report.Published)
		require.Less(t, report.Duration, 10*time.Second)
		require.LessOrEqual(t, store.connects, 4)
	})
}

func TestRelayConnectsAgainAfterALostSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(1_000, 1, "b")...), newPublisher()
		claims := 0
		store.claim = func(outbox.Claim) error {
			claims++
			if claims%3 == 0 {
				return errConnection
			}
			return nil
		}
		report, err := drain(t, store, publisher, config(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 1_000, report.Published)
		require.Empty(t, publisher.acceptedAgain())
	})
}

func TestRelayDoesNotRepeatAStatementThatIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newStore(events(10, 1, "b")...)
		store.claim = func(outbox.Claim) error { return fmt.Errorf("%w: no such table", outbox.ErrRefused) }
		_, err := drain(t, store, newPublisher(), config(), time.Minute)
		require.ErrorContains(t, err, "no such table")
		require.Equal(t, 1, store.connects)
	})
}

// The server ends the session of a run that polls just before the run's time is
// over, when there is none left for another session. In the second case there is,
// and the database is down.
func TestRelaySucceedsWhenOnlyItsLastPollFails(t *testing.T) {
	t.Parallel()
	for name, lastPoll := range map[string]time.Duration{"NoTimeForAnother": 49 * time.Second, "TimeForAnother": 42 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, publisher := newStore(events(20, 1, "b")...), newPublisher()
				began, failed := time.Now(), 0
				down := func() error {
					if time.Since(began) < lastPoll {
						return nil
					}
					failed++
					return errConnection
				}
				store.claim = func(outbox.Claim) error { return down() }
				store.connect = func(int) error { return down() }
				config := config()
				config.PollInterval, config.Reserve = 7*time.Second, 4990*time.Millisecond // the last claim is due in second 49

				report, err := drain(t, store, publisher, config, time.Minute)

				require.Equal(t, 20, report.Published)
				if name == "NoTimeForAnother" {
					require.NoError(t, err)
					require.Equal(t, 1, failed)
					return
				}
				require.ErrorIs(t, err, errConnection)
			})
		})
	}
}

// A pooler has a connection for one session, and takes it from the others after
// they have had it once or never.
func TestRelayGoesOnWithTheWorkersThatAConnectionIsLeftFor(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"OthersNeverHaveOne": 0, "OthersHadOne": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, publisher := newStore(events(20_000, 1, "b")...), newPublisher()
				publisher.latency = func() time.Duration { return 200 * time.Millisecond }
				claims := map[int]int{}
				store.claimBy = func(session int) error {
					claims[session]++
					if session > 1 && (session > 4 || claims[session] > before) {
						return fmt.Errorf("waited for a connection: %w", errConnection)
					}
					return nil
				}
				config := config()
				config.Workers = 4

				report, err := drain(t, store, publisher, config, 5*time.Minute)

				require.NoError(t, err)
				require.Equal(t, 20_000, report.Published)
				require.Empty(t, publisher.acceptedAgain())
				require.Greater(t, store.connects, 1, "the test has not denied a connection")
			})
		})
	}
}

func TestRelayFailsWhenNoWorkerHasAConnectionLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, publisher := newStore(events(20_000, 1, "b")...), newPublisher()
		publisher.latency = func() time.Duration { return 200 * time.Millisecond }
		began := time.Now()
		store.claimBy = func(int) error {
			if time.Since(began) > 2*time.Second {
				return errConnection
			}
			return nil
		}
		config := config()
		config.Workers = 4
		_, err := drain(t, store, publisher, config, 5*time.Minute)
		require.ErrorIs(t, err, errConnection)
	})
}
