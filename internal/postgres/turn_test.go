package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

// taking and seeing are claims of a run that polls.
func taking() outbox.Claim {
	asked := everything
	asked.Turn = outbox.TakeTurn
	return asked
}

func seeing() outbox.Claim {
	asked := everything
	asked.Turn = outbox.SeeTurn
	return asked
}

const lastTurn = "SELECT last_value || ' ' || is_called FROM outbox_turn"

func TestRunsTakeNumbersThatOthersSee(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 3)
	older, newer, asked := db.session(t), db.session(t), seeing()
	asked.Rows = 1

	require.EqualValues(t, 1, claim(t, older, taking()).Turn)
	next, _, err := older.Settle(t.Context(), outbox.Settlement{Published: upTo(1)}, &asked)
	require.NoError(t, err)
	require.EqualValues(t, 1, next.Turn)

	batch := claim(t, newer, taking())
	require.Equal(t, []int64{3}, seqsOf(batch))
	require.EqualValues(t, 2, batch.Turn)
	next, _, err = older.Settle(t.Context(), outbox.Settlement{Published: []int64{2}}, &asked)
	require.NoError(t, err)
	require.EqualValues(t, 2, next.Turn, "it waits for no commit")
}

// The newer run is at work, whatever becomes of its first batch.
func TestANumberIsTakenForGood(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 3)
	session := db.session(t)
	require.EqualValues(t, 1, claim(t, session, taking()).Turn)

	session.Close(t.Context())

	require.Equal(t, "1 true", db.text(t, lastTurn))
	require.EqualValues(t, 1, claim(t, db.session(t), seeing()).Turn)
}

func TestAClaimThatFailsTakesNoNumber(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]string{
		"Refused":  "REVOKE SELECT ON outbox FROM outbox_relay",
		"OurCheck": "ALTER TABLE outbox ALTER COLUMN created_at TYPE timestamp", // the statement itself succeeds
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := newDatabase(t)
			db.pending(t, 1)
			db.Exec(t, change)

			_, err := db.session(t).Claim(t.Context(), taking())

			require.Error(t, err)
			require.Equal(t, "1 false", db.text(t, lastTurn))
		})
	}
}

func TestAClaimLeavesNumbersAloneWhereItIsNotToLook(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	db.pending(t, 1)
	db.Exec(t, "DROP SEQUENCE outbox_turn")

	require.Len(t, claim(t, db.session(t), everything).Events, 1)
}

// Tables of version 2 have no sequence. A run that does not poll needs none.
func TestSaysToMigrateWhereThereAreNoNumbers(t *testing.T) {
	t.Parallel()

	db := newDatabaseOf(t, version2)
	for rows := range 2 {
		db.pending(t, rows)
		for _, asked := range []outbox.Claim{taking(), seeing()} {
			_, err := db.session(t).Claim(t.Context(), asked)

			require.ErrorIs(t, err, outbox.ErrRefused)
			require.ErrorContains(t, err, `relation "public.outbox_turn" does not exist`)
			require.ErrorContains(t, err, `bring the tables of "public"."outbox" up to date (invoke migrate`)
		}
		require.Len(t, db.claimSeqs(t, everything), rows)
	}
}

func TestSaysWhichRoleMayTakeNumbers(t *testing.T) {
	t.Parallel()

	db := newDatabase(t)
	for right, asked := range map[string]outbox.Claim{"USAGE": taking(), "SELECT": seeing()} {
		db.Exec(t, "REVOKE "+right+" ON SEQUENCE outbox_turn FROM outbox_relay")

		_, err := db.session(t).Claim(t.Context(), asked)

		require.ErrorContains(t, err, "permission denied for sequence outbox_turn")
		require.ErrorContains(t, err, "give the user the role outbox_relay")
	}
}

// A relay is the only one with a right to them.
func TestOnlyTheRelayMayTakeNumbers(t *testing.T) {
	t.Parallel()

	for _, role := range []string{"outbox_writer", "outbox_cleanup", "outbox_lag", "outbox_admin"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()

			newDatabase(t).as(t, role).requireNoRight(t,
				"SELECT nextval('outbox_turn')", "SELECT last_value FROM outbox_turn", "SELECT setval('outbox_turn', 1)")
		})
	}
}
