package outbox

import "slices"

// size counts the rows of a settlement.
func (s Settlement) size() int { return len(s.Published) + len(s.Deferred) + len(s.Failed) }

// split cuts a settlement of two rows or more in two.
func (s Settlement) split() (Settlement, Settlement) {
	half := s.size() / 2
	published := min(half, len(s.Published))
	deferred := min(half-published, len(s.Deferred))
	failed := half - published - deferred
	return Settlement{s.Published[:published], s.Deferred[:deferred], s.Failed[:failed]},
		Settlement{s.Published[published:], s.Deferred[deferred:], s.Failed[failed:]}
}

// Seqs lists the rows of a settlement.
func (s Settlement) Seqs() []int64 {
	seqs := append([]int64(nil), s.Published...)
	for _, deferral := range s.Deferred {
		seqs = append(seqs, deferral.Seq)
	}
	for _, failure := range s.Failed {
		seqs = append(seqs, failure.Seq)
	}
	return seqs
}

// without returns the settlement less some rows.
func (s Settlement) without(seqs []int64) Settlement {
	if len(seqs) == 0 {
		return s
	}
	gone := func(seq int64) bool { return slices.Contains(seqs, seq) }
	return Settlement{
		Published: slices.DeleteFunc(slices.Clone(s.Published), gone),
		Deferred:  slices.DeleteFunc(slices.Clone(s.Deferred), func(d Deferral) bool { return gone(d.Seq) }),
		Failed:    slices.DeleteFunc(slices.Clone(s.Failed), func(f Failure) bool { return gone(f.Seq) }),
	}
}
