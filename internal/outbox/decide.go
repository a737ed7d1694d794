package outbox

import "strings"

// reasonMax bounds the text of an error that is kept with a row, in bytes.
const reasonMax = 1000

// decide turns the outcomes of a batch into what is recorded of them. Rows that
// are not in it stay as they are.
func (c Config) decide(outcomes []Outcome) Settlement {
	var settlement Settlement
	for _, outcome := range outcomes {
		switch outcome.Verdict {
		case Accepted:
			settlement.Published = append(settlement.Published, outcome.Event.Seq)
		case Transient:
			settlement.Deferred = append(settlement.Deferred, c.deferral(outcome))
		case Unknown:
			if outcome.Event.Attempts+1 >= c.MaxAttempts {
				settlement.Failed = append(settlement.Failed, failure(outcome))
			} else {
				settlement.Deferred = append(settlement.Deferred, c.deferral(outcome))
			}
		case Poison:
			settlement.Failed = append(settlement.Failed, failure(outcome))
		case Held, Unanswered, Denied:
		}
	}
	return settlement
}

// postponed counts the outcomes that leave an entry for later because it, its
// request or its bus failed.
func postponed(outcomes []Outcome, settlement Settlement) int {
	n := len(settlement.Deferred)
	for _, outcome := range outcomes {
		if outcome.Verdict == Denied || outcome.Verdict == Unanswered {
			n++
		}
	}
	return n
}

func (c Config) deferral(outcome Outcome) Deferral {
	return Deferral{
		Seq:      outcome.Event.Seq,
		Attempts: outcome.Event.Attempts,
		Delay:    jitter(pause(c.RetryBase, 2, outcome.Event.Attempts, c.RetryMax)),
		Reason:   clean(outcome.Code + ": " + outcome.Message),
	}
}

func failure(outcome Outcome) Failure {
	return Failure{Seq: outcome.Event.Seq, Code: clean(outcome.Code), Message: clean(outcome.Message)}
}

// clean makes text from outside fit for a text column: short, valid UTF-8 and
// without NUL.
func clean(text string) string {
	text = text[:min(len(text), reasonMax)]
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}
