package outbox

import "sync"

// claimsAlone is how many claims a run makes after it has taken its number before
// it starts more workers. The workers of an older run have two batches to settle
// until they end: the one in which they are, and the one with which they notice.
// So the connections of both do not add up, unless those batches take longer.
const claimsAlone = 3

// turn is the place of a polling run among the others of its outbox. Each takes a
// number once it is at work, and ends when as many newer ones are at work as there
// are to be.
//
// The numbers are a sequence of the store's. After a crash of the database it may
// go on up to 32 numbers higher, and a run whose connection breaks before it has the
// answer takes a second number: older runs then end early, once, and the schedule
// starts the next. If it was made anew, older runs do not notice the newer ones, and
// end with their budget.
//
// Whoever else invokes a polling relay takes a number too: that is why nudges are for
// relays that do not poll.
type turn struct {
	parallel int64 // runs that are to be at work at once; 0: this one does not poll, nobody is looked for

	mu     sync.Mutex
	number int64 // this run's; 0: not taken yet
	claims int   // since then
	over   bool
}

func newTurn(config Config) *turn {
	if config.PollInterval == 0 {
		return &turn{}
	}
	return &turn{parallel: int64(config.Parallel)}
}

// next is what the next claim has to do.
func (t *turn) next() Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.parallel == 0:
		return NoTurn
	case t.number == 0:
		return TakeTurn
	}
	return SeeTurn
}

// found notes the number that a claim has taken or seen.
func (t *turn) found(what Turn, number int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch what {
	case TakeTurn:
		t.number = number
	case SeeTurn:
		t.claims++
		t.over = t.over || number >= t.number+t.parallel
	}
}

// isOver reports that newer runs are at work, so that this one claims no more.
func (t *turn) isOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// isSettled reports that this run may have more than one worker.
func (t *turn) isSettled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.parallel == 0 || t.claims >= claimsAlone && !t.over
}
