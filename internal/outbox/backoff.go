package outbox

import (
	"math/rand/v2"
	"time"
)

// pause is first, growing by the factor with each of n failures before, up to
// longest.
func pause(first time.Duration, factor, n int, longest time.Duration) time.Duration {
	d := first
	for range n {
		if d >= longest/time.Duration(factor) {
			return longest
		}
		d *= time.Duration(factor)
	}
	return min(d, longest)
}

// jitter takes up to half off, so that what failed together is not tried again
// together.
func jitter(d time.Duration) time.Duration {
	if d < 2 {
		return d
	}
	return d - rand.N(d/2)
}
