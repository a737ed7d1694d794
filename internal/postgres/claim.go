package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"outboxrelay/internal/outbox"
)

// The columns of claim.sql.
const (
	colSeq = iota
	colID
	colAggregateType
	colAggregateID
	colEventType
	colPayload
	colHeaders
	colSource
	colBus
	colCreatedAt
	colAttempts
	colTextBytes
	colOversized
	colClaimedAt
	colLocked
	claimColumns
)

// addClaim begins a transaction and claims a batch in it. The batch is filled
// when the pipeline has run.
func (s *session) addClaim(p *pipeline, claim outbox.Claim) *outbox.Batch {
	batch := &outbox.Batch{}
	s.addBegin(p)
	if claim.Turn == outbox.SeeTurn {
		p.add(turnStep("see the newest run's number", batch), s.store.queries.seeTurn)
	}
	p.add(step{
		name: claimStep,
		cols: checkClaimColumns,
		row: func(r row) error {
			batch.Locked = int(r.int8(colLocked))
			batch.Events = append(batch.Events, event(r))
			return nil
		},
	}, s.store.queries.claim,
		int8Param(claim.After),
		textParam(s.store.bus),
		textsParam(claim.WithoutBuses),
		int8sParam(claim.WithoutSeqs),
		int8Param(int64(claim.Rows)),
		int8Param(int64(claim.Bytes)),
		int8Param(int64(claim.EventBytes)),
	)
	p.add(step{name: "settling"}, s.store.queries.settling)
	return batch
}

// turnStep is a statement that returns the number of a run.
func turnStep(name string, batch *outbox.Batch) step {
	return step{name: name, row: func(r row) error {
		batch.Turn = r.int8(0)
		return nil
	}}
}

func checkClaimColumns(columns []pgconn.FieldDescription) error {
	if len(columns) != claimColumns {
		return fmt.Errorf("the result has %d columns, not %d", len(columns), claimColumns)
	}
	return requireZone(columns[colCreatedAt])
}

// requireZone refuses a table with a time that has no zone: every age would be
// off by the session's, unseen, and rows would expire sooner or later than they
// should.
func requireZone(column pgconn.FieldDescription) error {
	if column.DataTypeOID != pgtype.TimestamptzOID {
		return fmt.Errorf("%w: column %s must be of type timestamptz, so that a time means the same to everyone",
			outbox.ErrRefused, column.Name)
	}
	return nil
}

// ageMax bounds ages, which are to be added up: created_at may be anything.
const ageMax = 100 * 365 * 24 * time.Hour

func event(r row) outbox.Event {
	created, known := r.time(colCreatedAt)
	claimed, _ := r.time(colClaimedAt)
	event := outbox.Event{
		Seq:           r.int8(colSeq),
		ID:            r.text(colID),
		AggregateType: r.text(colAggregateType),
		AggregateID:   r.text(colAggregateID),
		Type:          r.text(colEventType),
		Payload:       r.text(colPayload),
		Headers:       r.text(colHeaders),
		Source:        r.text(colSource),
		Bus:           r.text(colBus),
		CreatedAt:     created,
		Timeless:      !known,
		Attempts:      r.int4(colAttempts),
		TextBytes:     r.int4(colTextBytes),
		Oversized:     r.bool(colOversized),
	}
	if known {
		event.Age = max(-ageMax, min(claimed.Sub(created), ageMax))
	}
	return event
}
