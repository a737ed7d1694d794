package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

func TestAPauseIsObeyedByTheNextClaim(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 3)
	db.Exec(t, "UPDATE outbox SET topic = 'orders' WHERE seq = 2")
	admin, session := db.admin(t), db.session(t)
	claimed := func() []int64 {
		batch := claim(t, session, everything)
		if batch.Locked > 0 {
			settle(t, session, outbox.Settlement{})
		}
		return seqsOf(batch)
	}
	require.Equal(t, upTo(3), claimed())

	for _, step := range []struct {
		act  func() (outbox.AdminResult, error)
		left []int64
	}{
		{func() (outbox.AdminResult, error) { return admin.Pause(t.Context(), "orders", "") }, []int64{1, 3}},
		{func() (outbox.AdminResult, error) { return admin.Pause(t.Context(), "events", "why") }, []int64{}}, // of rows without topic
		{func() (outbox.AdminResult, error) { return admin.Resume(t.Context(), "orders") }, []int64{2}},
		{func() (outbox.AdminResult, error) { return admin.Pause(t.Context(), "*", "") }, []int64{}},
		{func() (outbox.AdminResult, error) { return admin.Resume(t.Context(), "events") }, []int64{}},
		{func() (outbox.AdminResult, error) { return admin.Resume(t.Context(), "*") }, upTo(3)},
	} {
		result, err := step.act()
		require.NoError(t, err)
		require.Equal(t, 1, result.Changed)
		require.Equal(t, step.left, claimed())
	}
}

func TestPausingAgainKeepsSinceAndTakesTheReason(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	admin := db.admin(t)
	pause := func(reason string) outbox.AdminResult {
		result, err := admin.Pause(t.Context(), "orders", reason)
		require.NoError(t, err)
		return result
	}

	require.Equal(t, outbox.AdminResult{Matched: 0, Changed: 1}, pause("first"))
	since := db.text(t, "SELECT since FROM outbox_paused")
	require.Equal(t, outbox.AdminResult{Matched: 1, Changed: 1}, pause("second"))
	require.Equal(t, outbox.AdminResult{Matched: 1, Changed: 0}, pause("second"))
	require.Equal(t, outbox.AdminResult{Matched: 1, Changed: 0}, pause(""))

	require.Equal(t, since, db.text(t, "SELECT since FROM outbox_paused"))
	require.Equal(t, "second", db.text(t, "SELECT reason FROM outbox_paused"))
}

func TestResumingWhatIsNotPausedNamesWhatIs(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	admin := db.admin(t)
	_, err := admin.Resume(t.Context(), "orders")
	require.EqualError(t, err, `bus "orders" is not paused, nor is any other`)

	db.Exec(t, "INSERT INTO outbox_paused (topic) VALUES ('*'), ('invoices')")
	_, err = admin.Resume(t.Context(), "orders")
	require.EqualError(t, err, `bus "orders" is not paused: those that are: "*", "invoices"`)

	db.Exec(t, "INSERT INTO outbox_paused (topic) SELECT 'bus-' || n FROM generate_series(10, 20) AS n")
	_, err = admin.Resume(t.Context(), "orders")
	require.ErrorContains(t, err, `"bus-18", and more, which status lists`)
	require.Equal(t, 13, db.QueryInt(t, "SELECT count(*) FROM outbox_paused"))
}

func TestAPauseThatTheDatabaseDropsIsAnError(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.Exec(t, dropping+"CREATE TRIGGER t BEFORE INSERT ON outbox_paused FOR EACH ROW EXECUTE FUNCTION drop_it()")

	_, err := db.admin(t).Pause(t.Context(), "orders", "")

	require.ErrorContains(t, err, `the database dropped the pause of "orders"`)
}
