package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
	"outboxrelay/internal/wire"
)

func TestLagAnswerIsInSeconds(t *testing.T) {
	t.Parallel()

	answer, err := json.Marshal(wire.NewLagAnswer(outbox.Lag{
		OldestUnpublishedAge: 1500*time.Millisecond + time.Microsecond, Unpublished: 2, UnpublishedIsLowerBound: true, Failed: 3, Paused: 4,
		OldestPublishedAge: time.Minute, DeadRows: 5, OldestTransactionAge: time.Hour,
	}))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"oldest_unpublished_age_seconds": 1.5, "unpublished": 2, "unpublished_is_lower_bound": true, "failed": 3, "paused": 4,
		"oldest_published_age_seconds": 60, "dead_rows": 5, "oldest_transaction_age_seconds": 3600}`, string(answer))
}
