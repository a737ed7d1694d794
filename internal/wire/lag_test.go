package wire_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
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

func TestALineOfTheLogHasWhatTheAnswerHas(t *testing.T) {
	t.Parallel()

	answer := wire.NewLagAnswer(outbox.Lag{OldestUnpublishedAge: time.Second, Unpublished: 2, UnpublishedIsLowerBound: true})
	text, err := json.Marshal(answer)
	require.NoError(t, err)
	var line bytes.Buffer
	slog.New(slog.NewJSONHandler(&line, &slog.HandlerOptions{ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
		switch attr.Key {
		case slog.TimeKey, slog.LevelKey, slog.MessageKey:
			return slog.Attr{}
		}
		return attr
	}})).Info("", answer.Fields()...)
	require.JSONEq(t, string(text), line.String())
}
