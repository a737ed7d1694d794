package eventbridgetest

import (
	"math/rand/v2"
	"time"
)

// Sometimes applies f to a share (0 to 1) of the requests. The same seed chooses the same requests, by order of arrival.
func Sometimes(seed uint64, share float64, f Fault) Fault {
	random := rand.New(rand.NewPCG(seed, seed))
	return faultFunc(func(p *plan) {
		if random.Float64() < share {
			f.apply(p)
		}
	})
}

// LatencyBetween is Latency of a length drawn from low to high for every request, the same ones for the same seed.
func LatencyBetween(seed uint64, low, high time.Duration) Fault {
	random := rand.New(rand.NewPCG(seed, seed))
	return faultFunc(func(p *plan) { p.after += low + time.Duration(random.Int64N(int64(high-low)+1)) })
}
