package postgres

import (
	"math"

	"outboxrelay/internal/outbox"
)

// changed collects the rows that a settlement's statements reached.
type changed map[int64]bool

// addSettlement adds the statements that the settlement needs. What they
// changed is known when the pipeline has run.
func (s *session) addSettlement(p *pipeline, settlement outbox.Settlement) changed {
	rows := changed{}
	if len(settlement.Published) > 0 {
		p.add(rows.by("mark published"), s.store.published, int8sParam(settlement.Published))
	}
	if len(settlement.Deferred) > 0 {
		p.add(rows.by("defer events"), s.store.queries.postpone, deferrals(settlement.Deferred)...)
	}
	if len(settlement.Failed) > 0 {
		p.add(rows.by(failStep), s.store.queries.fail, failures(settlement.Failed)...)
	}
	return rows
}

// by is a statement that returns the seq of each row that it changed, and NULL
// for one whose change did not last.
func (c changed) by(name string) step {
	return step{name: name, row: func(r row) error {
		if r[0] != nil {
			c[r.int8(0)] = true
		}
		return nil
	}}
}

// missing lists the rows of a settlement that were not reached. They were
// locked, so something in the database has dropped the change: unseen, their
// events would be sent again for ever.
func (c changed) missing(settlement outbox.Settlement) []int64 {
	var seqs []int64
	for _, seq := range settlement.Seqs() {
		if !c[seq] {
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

func deferrals(deferred []outbox.Deferral) []param {
	seqs := make([]int64, len(deferred))
	backoffs := make([]int64, len(deferred))
	reasons := make([]string, len(deferred))
	attempts := make([]int32, len(deferred))
	for i, d := range deferred {
		seqs[i], backoffs[i], reasons[i] = d.Seq, d.Delay.Milliseconds(), d.Reason
		attempts[i] = int32(min(d.Attempts, math.MaxInt32)) //nolint:gosec // it was an int4 in the table
	}
	return []param{int8sParam(seqs), int8sParam(backoffs), textsParam(reasons), int4sParam(attempts)}
}

func failures(failed []outbox.Failure) []param {
	seqs := make([]int64, len(failed))
	codes := make([]string, len(failed))
	messages := make([]string, len(failed))
	for i, f := range failed {
		seqs[i], codes[i], messages[i] = f.Seq, f.Code, f.Message
	}
	return []param{int8sParam(seqs), textsParam(codes), textsParam(messages)}
}
