package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"outboxrelay/internal/outbox"
)

// Redrive implements outbox.AdminSession.
func (s *adminSession) Redrive(ctx context.Context, seqs []int64) ([]int64, error) {
	fixed, err := s.prepareRedrive(ctx, seqs)
	if err != nil {
		return nil, err
	}
	var taken []int64
	p := s.pipeline()
	p.add(step{name: "redrive failed events", row: func(r row) error {
		taken = append(taken, r.int8(0))
		return s.moved(r)
	}}, withoutColumns(s.store.queries.redrive, fixed), int8sParam(seqs))
	if err := s.run(ctx, p); err != nil {
		return nil, err
	}
	return taken, s.runAndCommit(ctx, s.pipeline()) // only now is it known that all is well
}

// prepareRedrive returns the columns of the outbox that cannot be written. It is
// an error if the events could not be themselves there.
func (s *adminSession) prepareRedrive(ctx context.Context, seqs []int64) (fixed []string, err error) {
	var present []int64
	p := s.pipeline()
	p.add(step{name: "look at the outbox's columns", row: func(r row) error {
		fixed = append(fixed, r.text(0))
		return nil
	}}, s.store.queries.columns, textParam(s.table.String()))
	p.add(step{name: "look for the events in the outbox", row: func(r row) error {
		present = append(present, r.int8(0))
		return nil
	}}, s.store.queries.present, int8sParam(seqs))
	if err := s.run(ctx, p); err != nil {
		return nil, err
	}
	if len(present) > 0 {
		return nil, s.inTheWay(present)
	}
	return fixed, s.requireWritable(fixed)
}

func (s *adminSession) inTheWay(present []int64) error {
	slices.Sort(present)
	const most = 10
	return fmt.Errorf("redrive failed events: %s has events with these numbers (seq) already: %v; "+
		"discard the failed ones if they are the same, or leave them out",
		s.table, present[:min(most, len(present))])
}

func (s *adminSession) requireWritable(fixed []string) error {
	var lost []string
	for _, column := range contract {
		if column.redrive && slices.Contains(fixed, column.name) {
			lost = append(lost, column.name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("redrive failed events: %w: the columns %s of %s cannot be written, so a redriven event would not be the same: "+
		"let the view have them from its table as they are", outbox.ErrRefused, strings.Join(lost, ", "), s.table)
}

// moved checks what has become of an event that the outbox has taken.
func (s *adminSession) moved(r row) error {
	seq, same, noted, removed := r.int8(0), r.bool(1), r.bool(2), r.bool(3)
	const advice = "look for a trigger, a rule or a policy there"
	switch {
	case !same:
		return fmt.Errorf("%s has given another seq or id to an event, which is now %d: %s", s.table, seq, advice)
	case !noted:
		return fmt.Errorf("event %d was not noted in %s: %s", seq, s.table.companion("_redriven"), advice)
	case !removed:
		return fmt.Errorf("event %d was not deleted from %s: %s", seq, s.table.companion("_failed"), advice)
	}
	return nil
}

// withoutColumns drops the lines of a statement that hold one of the columns.
func withoutColumns(statement string, columns []string) string {
	var kept []string
	for line := range strings.Lines(statement) {
		column, alone := strings.CutPrefix(strings.TrimSpace(line), ", ")
		if !alone || !slices.Contains(columns, column) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
