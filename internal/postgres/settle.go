package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"outboxrelay/internal/outbox"
)

// written counts the rows that a settlement's statements reached.
type written struct{ published, deferred, failed int64 }

// addSettlement adds the statements that the settlement needs. The counts are
// there when the pipeline has run.
func (s *session) addSettlement(p *pipeline, settlement outbox.Settlement) *written {
	w := &written{}
	if len(settlement.Published) > 0 {
		p.add(counting("mark published", &w.published), s.store.published, int8sParam(settlement.Published))
	}
	if len(settlement.Deferred) > 0 {
		p.add(counting("defer events", &w.deferred), s.store.queries.postpone, deferrals(settlement.Deferred)...)
	}
	if len(settlement.Failed) > 0 {
		p.add(counting("move events to the failed table", &w.failed), s.store.queries.fail, failures(settlement.Failed)...)
	}
	return w
}

func counting(name string, n *int64) step {
	return step{name: name, done: func(tag pgconn.CommandTag) { *n = tag.RowsAffected() }}
}

// missing tells a settlement that did not reach all of its rows. They were
// locked, so something in the database has dropped the change: unseen, their
// events would be sent again for ever.
func (w *written) missing(settlement outbox.Settlement) error {
	want := written{int64(len(settlement.Published)), int64(len(settlement.Deferred)), int64(len(settlement.Failed))}
	if *w == want {
		return nil
	}
	return fmt.Errorf("settle batch: the database changed %d of %d published, %d of %d deferred and %d of %d failed rows: "+
		"a trigger, rule or policy on the table drops changes",
		w.published, want.published, w.deferred, want.deferred, w.failed, want.failed)
}

func deferrals(deferred []outbox.Deferral) []param {
	seqs := make([]int64, len(deferred))
	backoffs := make([]int64, len(deferred))
	reasons := make([]string, len(deferred))
	for i, d := range deferred {
		seqs[i], backoffs[i], reasons[i] = d.Seq, d.Delay.Milliseconds(), d.Reason
	}
	return []param{int8sParam(seqs), int8sParam(backoffs), textsParam(reasons)}
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
