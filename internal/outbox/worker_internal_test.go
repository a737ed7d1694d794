package outbox

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// recordingSession keeps what a worker asks for.
type recordingSession struct {
	Session

	next *Claim
}

func (s *recordingSession) Settle(_ context.Context, _ Settlement, next *Claim) (Batch, Receipt, error) {
	s.next = next
	return Batch{}, Receipt{Committed: true}, nil
}

// Another worker may have moved the floor past rows that a batch had locked and
// leaves pending: they are claimable again as soon as it is settled.
func TestTheClaimAfterABatchStartsAtTheRowsThatItLeaves(t *testing.T) {
	t.Parallel()
	events := func() []Event { return []Event{{Seq: 11}, {Seq: 12}, {Seq: 13}} }
	for name, test := range map[string]struct {
		locked   int
		verdicts []Verdict
		after    int64
	}{
		"AllSettled":    {3, []Verdict{Accepted, Accepted, Accepted}, 1000},
		"TooManyBytes":  {64, []Verdict{Accepted, Accepted, Accepted}, 13},
		"SomeHeld":      {3, []Verdict{Accepted, Held, Accepted}, 11},
		"HeldAndCut":    {64, []Verdict{Accepted, Accepted, Held}, 12},
		"Unanswered":    {3, []Verdict{Accepted, Unanswered, Accepted}, 1000},
		"DeniedForGood": {3, []Verdict{Denied, Denied, Accepted}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := Config{Workers: 1, Concurrency: 1, BatchSize: 64, FrontScanMax: time.Hour}
			run := NewRelay(nil, nil, config, slog.New(slog.DiscardHandler)).newRun(t.Context(), time.Now())
			run.floor.seq, run.floor.scanAt = 1000, time.Now().Add(time.Hour)
			session := &recordingSession{}
			worker := &worker{run: run, session: session, rows: 64}
			batch := &batch{Batch: Batch{Events: events(), Locked: test.locked}, asked: 64}
			var outcomes []Outcome
			for i, verdict := range test.verdicts {
				outcomes = append(outcomes, Outcome{Event: &batch.Events[i], Verdict: verdict})
			}

			require.NoError(t, worker.settle(t.Context(), batch, outcomes))

			require.Equal(t, test.after, session.next.After)
		})
	}
}
