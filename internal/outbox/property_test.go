package outbox_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"outboxrelay/internal/outbox"
)

// weather is what a run has to live with.
type weather struct {
	timeout   time.Duration
	latency   time.Duration // the longest a request takes
	storeLag  time.Duration // of each answer of the store
	failing   float64       // share of requests that fail as a whole
	throttled float64       // share of requests that are throttled
	refused   float64       // share of entries that are refused for now
	poison    float64       // share of events that can never be published
	cut       float64       // share of settlings whose session is lost
	seed      uint64
}

func anyWeather(t *rapid.T) weather {
	share := func(name string) float64 {
		return rapid.SampledFrom([]float64{0, 0, 0.01, 0.2, 1}).Draw(t, name)
	}
	return weather{
		timeout:   time.Duration(rapid.IntRange(1, 900).Draw(t, "timeout")) * time.Second,
		latency:   time.Duration(rapid.IntRange(0, 5_000).Draw(t, "latency")) * time.Millisecond,
		storeLag:  time.Duration(rapid.IntRange(1, 200).Draw(t, "store")) * time.Millisecond,
		failing:   share("failing"),
		throttled: share("throttled"),
		refused:   share("refused"),
		poison:    share("poison"),
		cut:       share("cut"),
		seed:      rapid.Uint64().Draw(t, "seed"),
	}
}

// apply makes the store and the publisher behave so.
func (w weather) apply(store *fakeStore, publisher *fakePublisher) {
	storeRandom, random := rand.New(rand.NewPCG(w.seed, 0)), rand.New(rand.NewPCG(w.seed, 1))
	store.wait = func() { time.Sleep(w.storeLag) }
	store.settle = func(outbox.Settlement) error {
		if storeRandom.Float64() < w.cut {
			return errConnection
		}
		return nil
	}
	publisher.latency = func() time.Duration { return time.Duration(rand.Int64N(int64(w.latency) + 1)) }
	publisher.poison = func(event outbox.Event) bool { return float64(event.Seq%100) < 100*w.poison }
	publisher.answer = func(outbox.Request) error {
		switch dice := random.Float64(); {
		case dice < w.failing:
			return unavailable()
		case dice < w.failing+w.throttled:
			return &outbox.RequestError{Fault: outbox.Throttled, Code: "ThrottlingException"}
		default:
			return nil
		}
	}
	publisher.verdict = func(outbox.Event) outbox.Outcome {
		if random.Float64() < w.refused {
			return outbox.Outcome{Verdict: outbox.Transient, Code: "InternalFailure"}
		}
		return outbox.Outcome{Verdict: outbox.Accepted}
	}
}

func TestRelayEndsInTimeAndRecordsWhatWasAcceptedWhateverTheWeather(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		weather := anyWeather(rt)
		config := config()
		config.Workers = rapid.IntRange(1, 4).Draw(rt, "workers")
		config.PollInterval = rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(rt, "poll")
		config.MaxRate = rapid.SampledFrom([]float64{0, 1, 50}).Draw(rt, "rate")
		n := rapid.IntRange(0, 2_000).Draw(rt, "events")
		synctest.Test(t, func(t *testing.T) {
			store, publisher := newStore(events(n/2, 1, "a")...), newPublisher()
			store.insert(events(n-n/2, int64(n/2+1), "b")...)
			weather.apply(store, publisher)

			began := time.Now()
			report, _ := drain(t, store, publisher, config, weather.timeout)

			end := max(0, weather.timeout-config.Reserve)
			require.LessOrEqual(t, time.Since(began), end+2*time.Second, "only the store may make use of the reserve")
			require.Len(t, store.published(), len(publisher.accepted), "accepted and published are the same")
			require.Equal(t, len(store.published()), report.Published)
			require.Equal(t, len(store.failed()), report.Failed)
			require.Empty(t, publisher.acceptedAgain())
			require.Empty(t, store.locked())
			require.Zero(t, store.open)
			for _, seq := range store.published() {
				require.Positive(t, publisher.accepted[seq], "nothing is marked that was not accepted")
			}
		})
	})
}
