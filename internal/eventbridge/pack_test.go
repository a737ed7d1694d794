package eventbridge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"outboxrelay/internal/outbox"
)

// shape tells requests as "bus:seq,seq".
func shape(requests []outbox.Request) []string {
	list := make([]string, len(requests))
	for i, request := range requests {
		seqs := make([]string, len(request.Entries))
		for j := range request.Entries {
			seqs[j] = fmt.Sprint(request.Entries[j].Event.Seq)
		}

		list[i] = request.Bus + ":" + strings.Join(seqs, ",")
	}
	return list
}

func TestPackNeedsNoEvents(t *testing.T) {
	t.Parallel()

	requests, poison := newPublisher(t, "", Config{}).Pack(nil)
	require.Empty(t, requests)
	require.Empty(t, poison)
}

func TestPackPutsAtMostTenEntriesInARequest(t *testing.T) {
	t.Parallel()
	for entries, want := range map[int][]int{1: {1, 1, 1}, 2: {2, 1}, 10: {3}, 11: {3}, 1000: {3}} {
		requests, _ := newPublisher(t, "", Config{MaxEntries: entries}).Pack(someEvents(3))
		require.Equal(t, want, lengths(requests))
	}

	requests, _ := newPublisher(t, "", Config{MaxEntries: 100}).Pack(someEvents(21))
	require.Equal(t, []int{10, 10, 1}, lengths(requests))
}

func lengths(requests []outbox.Request) []int {
	list := make([]int, len(requests))
	for i := range requests {
		list[i] = len(requests[i].Entries)
	}
	return list
}

func TestPackFillsRequestsOfMixedBuses(t *testing.T) {
	t.Parallel()

	events := someEvents(12)
	for i := range events {
		events[i].Bus = []string{"a", "b", "c"}[i%3]
	}

	requests, _ := newPublisher(t, "", Config{MaxEntries: 3}).Pack(events)
	require.Equal(t, []string{"a:1,4,7", "b:2,5,8", "c:3,6,9", "a:10", "b:11", "c:12"}, shape(requests))
}

func TestPackGivesAnEventThatAsksForItARequestOfItsOwn(t *testing.T) {
	t.Parallel()

	events := someEvents(6)
	events[0].Alone, events[3].Alone = true, true
	events[4].Bus = "other"

	requests, _ := newPublisher(t, "", Config{}).Pack(events)
	require.Equal(t, []string{"orders:1", "orders:2,3", "orders:4", "other:5", "orders:6"}, shape(requests))
}

func TestPackCountsSizesAsEventBridgeDoes(t *testing.T) {
	t.Parallel()

	event := anEvent(from("süd"), ofType("Größe"))
	for envelope, resources := range map[Envelope]int{Metadata: 0, CloudEvents: 0, Raw: len("urn:uuid:") + 36} {
		entry := packed(t, newPublisher(t, "", Config{Envelope: envelope}), event).Entries[0]
		require.Equal(t, 14+len("süd")+len("Größe")+len(entry.Detail)+resources, entry.Size)
	}
}

func TestPackFillsARequestToTheLastByte(t *testing.T) {
	t.Parallel()

	events := someEvents(4)
	size := packed(t, newPublisher(t, "", Config{}), events[0]).Entries[0].Size

	requests, _ := newPublisher(t, "", Config{MaxBytes: 2 * size}).Pack(events)
	require.Equal(t, []int{2, 2}, lengths(requests))

	requests, _ = newPublisher(t, "", Config{MaxBytes: 2*size - 1}).Pack(events)
	require.Equal(t, []int{1, 1, 1, 1}, lengths(requests))

	_, poison := newPublisher(t, "", Config{MaxBytes: size - 1}).Pack(events)
	require.Len(t, poison, 4)
}

func TestPackReturnsPoisonInTheOrderOfEvents(t *testing.T) {
	t.Parallel()

	events := someEvents(5)
	events[1].Payload, events[3].Type = "{", ""

	requests, poison := newPublisher(t, "", Config{}).Pack(events)
	require.Equal(t, []string{"orders:1,3,5"}, shape(requests))
	require.Equal(t, []outbox.Verdict{outbox.Poison, outbox.Poison}, verdicts(poison))
	require.Same(t, &events[1], poison[0].Event)
	require.Same(t, &events[3], poison[1].Event)
}

func TestPackLosesAndDoublesNothingWithinTheLimits(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		config := quiet(Config{
			MaxEntries: rapid.IntRange(1, 10).Draw(t, "entries"), MaxBytes: rapid.IntRange(200, 5000).Draw(t, "bytes"),
			Envelope: rapid.SampledFrom([]Envelope{Metadata, CloudEvents, Raw}).Draw(t, "envelope"),
		})
		events := drawEvents(t)
		requests, poison := New(awsConfig(""), config).Pack(events)
		again, _ := New(awsConfig(""), config).Pack(events)
		require.Equal(t, shape(requests), shape(again))
		requireLimits(t, config, requests)
		requireEachOnce(t, events, requests, poison)
		requireNoRoomLeft(t, config, requests)
	})
}

func drawEvents(t *rapid.T) []outbox.Event {
	events := someEvents(rapid.IntRange(0, 60).Draw(t, "events"))
	for i := range events {
		events[i].Bus = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "bus")
		events[i].Alone = rapid.IntRange(0, 9).Draw(t, "alone") == 0
		events[i].Payload = `{"p":"` + strings.Repeat("x", rapid.IntRange(0, 2000).Draw(t, "length")) + `"}`
		if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
			events[i].Payload = `{"p":`
		}
	}
	return events
}

func requireLimits(t *rapid.T, config Config, requests []outbox.Request) {
	for _, request := range requests {
		size := 0
		for _, entry := range request.Entries {
			size += entry.Size
			require.Equal(t, request.Bus, entry.Event.Bus)
			require.True(t, !entry.Event.Alone || len(request.Entries) == 1)
		}

		require.LessOrEqual(t, size, config.MaxBytes)
		require.LessOrEqual(t, len(request.Entries), config.MaxEntries)
		require.NotEmpty(t, request.Entries)
	}
}

func requireEachOnce(t *rapid.T, events []outbox.Event, requests []outbox.Request, poison []outbox.Outcome) {
	seen := map[*outbox.Event]bool{}
	last := map[string]int64{}
	for _, request := range requests {
		for _, entry := range request.Entries {
			require.False(t, seen[entry.Event])
			require.Greater(t, entry.Event.Seq, last[request.Bus], "order within a bus")
			seen[entry.Event], last[request.Bus] = true, entry.Event.Seq
		}
	}
	for _, outcome := range poison {
		require.False(t, seen[outcome.Event])
		require.Equal(t, outbox.Poison, outcome.Verdict)
		seen[outcome.Event] = true
	}

	require.Len(t, seen, len(events))
}

// requireNoRoomLeft says that a request is followed by another one of its bus only for a reason.
func requireNoRoomLeft(t *rapid.T, config Config, requests []outbox.Request) {
	previous := map[string]outbox.Request{}
	for _, request := range requests {
		if before, ok := previous[request.Bus]; ok {
			size := request.Entries[0].Size
			for _, entry := range before.Entries {
				size += entry.Size
			}

			require.True(t, len(before.Entries) == config.MaxEntries || size > config.MaxBytes ||
				before.Entries[0].Event.Alone || request.Entries[0].Event.Alone)
		}

		previous[request.Bus] = request
	}
}

func BenchmarkPack(b *testing.B) {
	body := `{"order":{"id":"o-7","lines":[` + strings.Repeat(`{"sku":"A-1","quantity":2,"price":12.50},`, 20) + `{}]}}`
	for _, envelope := range []Envelope{Metadata, CloudEvents, Raw} {
		b.Run(string(envelope), func(b *testing.B) {
			p := New(awsConfig(""), quiet(Config{Envelope: envelope}))
			events := someEvents(500, payload(body), headers(`{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}`))
			b.SetBytes(int64(len(body) * len(events)))
			b.ReportAllocs()
			for b.Loop() {
				if _, poison := p.Pack(events); len(poison) > 0 {
					b.Fatal(poison[0].Message)
				}
			}

			b.ReportMetric(float64(b.N*len(events))/b.Elapsed().Seconds(), "events/s")
		})
	}
}
