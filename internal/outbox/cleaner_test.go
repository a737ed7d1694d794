package outbox_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

func TestCleanerDeletesWhatHasExpiredInBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(slices.Concat(
			aged(outbox.PublishedEvents, 2*time.Hour, 1, 250),
			aged(outbox.PublishedEvents, time.Hour, 251, 5),
			aged(outbox.FailedEvents, 1000*time.Hour, 1, 5),
			aged(outbox.Redrives, 1000*time.Hour, 1, 5))...)

		report, err := clean(t, store, cleanerConfig(), time.Minute)

		require.NoError(t, err)
		require.Equal(t, outbox.CleanupReport{
			Deleted: 250, Batches: 3, Stopped: outbox.Done, Duration: 100 * time.Millisecond,
		}, report)
		require.Equal(t, seqs(251, 255), store.seqs(outbox.PublishedEvents))
		require.Len(t, store.seqs(outbox.FailedEvents), 5, "failed events are kept for ever")
		require.Len(t, store.seqs(outbox.Redrives), 5)
		require.Zero(t, store.open, "a session was left open")
		for i := range store.began[1:] {
			require.Equal(t, 50*time.Millisecond, store.began[i+1].Sub(store.began[i]), "the pause")
		}
	})
}

func TestCleanerDeletesFailedEventsAndTheHistoryOfRedrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(slices.Concat(
			aged(outbox.PublishedEvents, 2*time.Hour, 1, 10),
			aged(outbox.FailedEvents, 25*time.Hour, 1, 110), aged(outbox.FailedEvents, 23*time.Hour, 200, 5),
			aged(outbox.Redrives, 25*time.Hour, 1, 110), aged(outbox.Redrives, 23*time.Hour, 200, 5))...)
		config := cleanerConfig()
		config.FailedRetention = 24 * time.Hour

		report, err := clean(t, store, config, time.Minute)

		require.NoError(t, err)
		report.Duration = 0
		require.Equal(t, outbox.CleanupReport{Deleted: 10, DeletedFailed: 110, Batches: 3, Stopped: outbox.Done}, report)
		require.Empty(t, store.seqs(outbox.PublishedEvents))
		require.Equal(t, seqs(200, 204), store.seqs(outbox.FailedEvents))
		require.Equal(t, seqs(200, 204), store.seqs(outbox.Redrives))
	})
}

func TestCleanerHasNothingToDo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup()
		report, err := clean(t, store, cleanerConfig(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, outbox.CleanupReport{Stopped: outbox.Done}, report)
		require.Empty(t, store.deletions)
	})
}

func TestCleanerGoesOnFromWhereTheLastBatchEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 300)...)

		_, err := clean(t, store, cleanerConfig(), time.Minute)

		require.NoError(t, err)
		require.Len(t, store.searches, 1)
		for i, after := range []int64{0, 100, 200, 300} {
			require.Equal(t, outbox.Place{At: -7200, Seq: after}, store.deletions[i].After)
		}
	})
}

func TestCleanerStopsWhenItsTimeIsUsedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 1000)...)
		store.cost = func(int64) time.Duration { return 700 * time.Microsecond }
		config := cleanerConfig()
		config.Pause = time.Minute
		began := time.Now()

		report, err := clean(t, store, config, 10*time.Second)

		require.NoError(t, err)
		require.Equal(t, outbox.OutOfTime, report.Stopped)
		require.Equal(t, 100, report.Deleted)
		require.Equal(t, 8*time.Second, time.Since(began), "a pause outlasts the time of a run")
		require.Equal(t, seqs(101, 1000), store.seqs(outbox.PublishedEvents))
		require.Zero(t, store.open)
	})
}

func TestCleanerStartsNoBatchThatMayNotEndInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 100_000)...)
		store.cost = func(int64) time.Duration { return 700 * time.Microsecond }
		began := time.Now()

		report, err := clean(t, store, cleanerConfig(), 10*time.Second)

		require.NoError(t, err)
		require.Equal(t, outbox.OutOfTime, report.Stopped)
		require.Less(t, store.began[len(store.began)-1].Sub(began), 7500*time.Millisecond+1)
		require.Greater(t, store.began[len(store.began)-1].Sub(began), 7*time.Second)
	})
}

func TestCleanerStopsWhenItIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 1000)...)
		store.fails = func(batch int) error {
			if batch == 2 {
				cancel()
			}
			return nil
		}

		report, err := outbox.NewCleaner(store, cleanerConfig(), discard).Run(ctx)

		require.NoError(t, err)
		require.Equal(t, outbox.OutOfTime, report.Stopped)
		require.Equal(t, 200, report.Deleted, "the batch is done to its end")
	})
}

// Each row is tried alone, after a search: the most that a run does before it
// looks at its time again.
func TestCleanerIsNeverCutOff(t *testing.T) {
	t.Parallel()
	for timeout := 3300 * time.Millisecond; timeout < 20*time.Second; timeout += 90 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 300)...)
			store.cost = func(int64) time.Duration { return 999 * time.Millisecond }
			store.walk, store.trip = 999*time.Millisecond, 250*time.Millisecond
			ends := time.Now().Add(timeout - 2*time.Second)

			report, err := clean(t, store, cleanerConfig(), timeout)

			require.NoError(t, err)
			require.Equal(t, outbox.OutOfTime, report.Stopped)
			require.False(t, time.Now().After(ends), "%s: the reserve was used", timeout)
		})
	}
}

// A search or a patient try that gets too little would fail for that alone.
func TestCleanerGivesWhatMayTakeLongASecondAtLeast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 1)...)
		store.cost = func(int64) time.Duration { return 900 * time.Millisecond }

		report, err := clean(t, store, cleanerConfig(), 3300*time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, outbox.OutOfTime, report.Stopped)
		require.Equal(t, time.Second, store.searches[0].Limit)

		report, err = clean(t, store, cleanerConfig(), 5*time.Second)
		require.NoError(t, err)
		require.Equal(t, 1, report.Deleted)
		require.Equal(t, time.Second, store.deletions[len(store.deletions)-2].Limit)
	})
}

func TestCleanerSaysThatItsTimeWasUsedUpByTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 1)...)
		store.trip = time.Hour

		_, err := clean(t, store, cleanerConfig(), time.Minute)

		require.EqualError(t, err, "the time of the run is used up, and its reserve: "+
			"look for what keeps the database or the network, or give the function a longer timeout")
	})
}

func TestCleanerSaysThatThereIsNoTimeForAnyWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 10)...)
		report, err := clean(t, store, cleanerConfig(), 2*time.Second)
		require.EqualError(t, err, "no time for any work: 0s are left before the reserve, 1.3s are needed; give the function a longer timeout")
		require.Zero(t, report)
		require.Len(t, store.rows, 10)
	})
}

// Deleting a row may take long, for a trigger of the application's.
func TestCleanerAdaptsItsBatchesToWhatARowCosts(t *testing.T) {
	t.Parallel()
	for _, cost := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 60 * time.Millisecond, 150 * time.Millisecond} {
		t.Run(cost.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 500)...)
				store.cost = func(int64) time.Duration { return cost }
				config := cleanerConfig()
				config.BatchSize = 1000

				report, err := clean(t, store, config, 10*time.Minute)

				require.NoError(t, err)
				require.Equal(t, 500, report.Deleted)
				require.Equal(t, outbox.Done, report.Stopped)
				require.LessOrEqual(t, slices.Max(store.took), 200*time.Millisecond)
				require.Less(t, report.Duration, 500*(cost+60*time.Millisecond))
				for i, deletion := range store.deletions {
					require.Equal(t, 200*time.Millisecond, deletion.Limit)
					if store.took[i] > 4*time.Millisecond && i+1 < len(store.deletions) {
						require.LessOrEqual(t, store.deletions[i+1].Rows, max(1, deletion.Rows/2))
					}
				}
			})
		})
	}
}

// What a batch costs is what the store spends on it, however far away that is.
func TestCleanerMakesNoBatchSmallerForTheNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 1000)...)
		store.trip = 150 * time.Millisecond

		report, err := clean(t, store, cleanerConfig(), time.Minute)

		require.NoError(t, err)
		require.Equal(t, 1000, report.Deleted)
		require.Equal(t, 10, report.Batches)
	})
}

func TestCleanerMakesBatchesLargeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 10_000)...)
		store.cost = func(seq int64) time.Duration {
			if seq <= 100 {
				return 20 * time.Millisecond
			}
			return 0
		}
		config := cleanerConfig()
		config.BatchSize = 1000

		report, err := clean(t, store, config, time.Minute)

		require.NoError(t, err)
		require.Equal(t, 10_000, report.Deleted)
		var sizes []int
		for _, deletion := range store.deletions {
			sizes = append(sizes, deletion.Rows)
		}
		require.Equal(t, 1000, slices.Max(sizes[10:]), "of %v", sizes)
		require.LessOrEqual(t, slices.Min(sizes), 7)
		require.Less(t, len(sizes), 130, "a hundred for the slow rows")
	})
}

// Its payload has a gigabyte, say.
func TestCleanerIsPatientWithASingleRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 300)...)
		store.cost = func(seq int64) time.Duration {
			if seq == 150 {
				return 9 * time.Second
			}
			return 0
		}

		report, err := clean(t, store, cleanerConfig(), time.Minute)

		require.NoError(t, err)
		require.Equal(t, 300, report.Deleted)
		require.Empty(t, store.rows)
		long := slices.DeleteFunc(store.deletions, func(d outbox.Deletion) bool { return d.Limit == 200*time.Millisecond })
		require.Equal(t, []outbox.Deletion{{
			Kind: outbox.PublishedEvents, After: outbox.Place{At: -7200, Seq: 149}, Upto: outbox.Place{At: -7200, Seq: 150},
			Rows: 1, Limit: 10 * time.Second,
		}}, long)
	})
}

func TestCleanerPassesOverARowThatTakesForEver(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"WithTime": time.Minute, "WithLittleTime": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 300)...)
				store.cost = func(seq int64) time.Duration {
					if seq == 1 {
						return time.Hour
					}
					return 0
				}

				report, err := clean(t, store, cleanerConfig(), timeout)

				require.ErrorContains(t, err, "published event with seq 1 could not be deleted and is left to the next run: tried alone")
				require.ErrorIs(t, err, errStatementTimeout)
				require.Equal(t, 299, report.Deleted)
				require.Equal(t, outbox.Done, report.Stopped)
				require.Equal(t, []int64{1}, store.seqs(outbox.PublishedEvents))
			})
		})
	}
}

func TestCleanerDeletesTheNeighboursOfRowsThatATriggerKeeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(slices.Concat(
			aged(outbox.PublishedEvents, 2*time.Hour, 1, 300), aged(outbox.FailedEvents, 2*time.Hour, 1, 300))...)
		kept := []int64{1, 77, 78, 200, 300}
		store.refuses = refusal(kept...)
		config := cleanerConfig()
		config.FailedRetention = time.Hour

		report, err := clean(t, store, config, time.Minute)

		require.ErrorContains(t, err, "published event with seq 1 could not be deleted")
		require.ErrorContains(t, err, "1 is out of the question")
		require.ErrorContains(t, err, "78 is out of the question")
		require.NotContains(t, err.Error(), "200 is out of the question", "a few are enough")
		require.ErrorContains(t, err, "and 7 more rows like these")
		require.Equal(t, 295, report.Deleted)
		require.Equal(t, 295, report.DeletedFailed)
		require.Equal(t, outbox.Done, report.Stopped)
		require.Equal(t, kept, store.seqs(outbox.PublishedEvents))
		require.Equal(t, kept, store.seqs(outbox.FailedEvents))
	})
}

func TestCleanerDeletesWhatIsBehindManyRowsThatCannotBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 6000)...)
		store.refuses = refusal(seqs(1, 3000)...)
		store.trip = 5 * time.Millisecond

		report, err := clean(t, store, cleanerConfig(), 12*time.Second)

		require.ErrorContains(t, err, "published event with seq 1 could not be deleted")
		require.ErrorContains(t, err, "rows after it were not tried")
		require.Equal(t, outbox.OutOfTime, report.Stopped)
		require.Greater(t, report.Deleted, 1500)
		require.Subset(t, store.seqs(outbox.PublishedEvents), seqs(1, 3000))
	})
}

func TestCleanerDeletesWhatIsBehindRowsThatTakeForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 100)...)
		store.cost = func(seq int64) time.Duration {
			if seq <= 10 {
				return 20 * time.Second
			}
			return 0
		}

		report, err := clean(t, store, cleanerConfig(), 15*time.Second)

		require.ErrorContains(t, err, "published event with seq 1 could not be deleted")
		require.ErrorContains(t, err, "published event with seq 6 could not be deleted")
		require.ErrorContains(t, err, "and 7 rows after it were not tried")
		require.Equal(t, 90, report.Deleted)
		require.Equal(t, outbox.OutOfTime, report.Stopped)
		require.Equal(t, seqs(1, 10), store.seqs(outbox.PublishedEvents))
	})
}

// Good rows among those that are skipped have their turn in the end.
func TestCleanerGoesBackToWhatItHasSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 300)...)
		store.refuses = refusal(append(seqs(1, 20), seqs(31, 45)...)...)

		report, err := clean(t, store, cleanerConfig(), 10*time.Minute)

		require.ErrorContains(t, err, "published event with seq 1 could not be deleted")
		require.NotContains(t, err.Error(), "not tried")
		require.Equal(t, 265, report.Deleted)
		require.Equal(t, outbox.Done, report.Stopped)
		require.Equal(t, append(seqs(1, 20), seqs(31, 45)...), store.seqs(outbox.PublishedEvents))
	})
}

func TestCleanerIsDoneWhereItWouldSkipTheLastRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 12)...)
		store.refuses = refusal(seqs(1, 12)...)

		report, err := clean(t, store, cleanerConfig(), time.Minute)

		require.ErrorContains(t, err, "and 9 more rows like these")
		require.NotContains(t, err.Error(), "not tried")
		require.Equal(t, outbox.Done, report.Stopped)
	})
}

func TestCleanerDoesNotLoopOverRowsThatAreKeptUnseen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 300)...)
		store.drops = func(seq int64) bool { return seq > 50 && seq <= 200 }

		report, err := clean(t, store, cleanerConfig(), time.Minute)

		require.ErrorContains(t, err, "published event with seq 51 could not be deleted")
		require.ErrorContains(t, err, "the database dropped the change")
		require.ErrorContains(t, err, "and 148 more rows like these")
		require.Equal(t, 150, report.Deleted)
		require.Equal(t, 3, report.Batches)
		require.Equal(t, seqs(51, 200), store.seqs(outbox.PublishedEvents))
	})
}

func TestCleanerLeavesRowsThatOthersHaveLocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 300)...)
		store.locked = func(seq int64) bool { return seq%100 == 7 }

		report, err := clean(t, store, cleanerConfig(), time.Minute)

		require.NoError(t, err)
		require.Equal(t, 297, report.Deleted)
		require.Equal(t, outbox.Done, report.Stopped)
		require.Equal(t, []int64{7, 107, 207}, store.seqs(outbox.PublishedEvents))
	})
}

func TestCleanerEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 300)...)
		store.fails = func(batch int) error {
			if batch == 3 {
				return errConnection
			}
			return nil
		}

		report, err := clean(t, store, cleanerConfig(), time.Minute)

		require.ErrorIs(t, err, errConnection)
		report.Duration = 0
		require.Equal(t, outbox.CleanupReport{Deleted: 200, Batches: 2}, report)
		require.Zero(t, store.open)

		store.connect = errors.New("no route to the database")
		_, err = clean(t, store, cleanerConfig(), time.Minute)
		require.ErrorIs(t, err, store.connect)
	})
}

func TestCleanerSaysWhyItFindsNoBeginning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 300)...)
		store.walk = 15*time.Second + 1

		_, err := clean(t, store, cleanerConfig(), time.Minute)

		require.ErrorContains(t, err, "no published event could be found within 15s: the entries that deleted rows have left")
		require.ErrorIs(t, err, errStatementTimeout)
		require.Empty(t, store.deletions)

		store.walk--
		report, err := clean(t, store, cleanerConfig(), time.Minute)
		require.NoError(t, err)
		require.Equal(t, 300, report.Deleted)
	})
}

func TestCleanerSaysWhoseFaultAnUndoneSearchIs(t *testing.T) {
	t.Parallel()
	for by, says := range map[outbox.UndoneBy]string{
		outbox.ByLock:    "no published event could be looked for: somebody holds a lock on the table",
		outbox.ByRefusal: "no published event could be looked for: as told",
	} {
		store := newCleanup(aged(outbox.PublishedEvents, 2*time.Hour, 1, 300)...)
		store.against = map[outbox.RowKind]error{outbox.PublishedEvents: &outbox.UndoneError{By: by, Cause: errors.New("as told")}}

		_, err := clean(t, store, cleanerConfig(), time.Minute)

		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, ": as told")
		require.NotContains(t, err.Error(), "entries that deleted rows have left")
	}
}

func TestCleanerGoesOnWithTheNextKindWhereOneCannotBeSearched(t *testing.T) {
	t.Parallel()
	undone := &outbox.UndoneError{By: outbox.ByLock, Cause: errors.New("canceling statement due to lock timeout")}
	for name, test := range map[string]struct {
		against error
		left    int
	}{"Undone": {undone, 0}, "ConnectionLost": {errConnection, 30}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newCleanup(slices.Concat(
				aged(outbox.PublishedEvents, 2*time.Hour, 1, 30),
				aged(outbox.FailedEvents, 2*time.Hour, 1, 30), aged(outbox.Redrives, 2*time.Hour, 1, 30))...)
			store.against = map[outbox.RowKind]error{outbox.PublishedEvents: test.against}
			config := cleanerConfig()
			config.FailedRetention = time.Hour

			report, err := clean(t, store, config, time.Minute)

			require.ErrorIs(t, err, test.against)
			require.Empty(t, report.Stopped)
			require.Len(t, store.seqs(outbox.PublishedEvents), 30)
			require.Len(t, store.seqs(outbox.FailedEvents), test.left)
			require.Len(t, store.seqs(outbox.Redrives), test.left)
			require.Equal(t, 30-test.left, report.DeletedFailed)
		})
	}
}
