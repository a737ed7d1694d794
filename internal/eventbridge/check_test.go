package eventbridge

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/outbox"
)

func TestAGoodAnswerIsKeptForAMinute(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{})
	now := created
	p.checks.now = func() time.Time { return now }
	for _, passed := range []time.Duration{0, 0, time.Minute - 1} {
		now = now.Add(passed)
		require.NoError(t, p.CheckBus(t.Context(), "orders"))
		require.Len(t, server.Describes(), 1)
	}

	now = now.Add(1)

	require.NoError(t, p.CheckBus(t.Context(), "orders"))
	require.Equal(t, []string{"orders", "orders"}, server.Describes())

	server.RemoveBus("orders")

	now = now.Add(time.Minute)
	requireFault(t, p.CheckBus(t.Context(), "orders"), outbox.Forbidden)
}

// A sandbox is frozen for hours, in which its monotonic clock may stand still.
func TestAGoodAnswerAgesByTheWallClock(t *testing.T) {
	t.Parallel()

	checks := newBusChecks(time.Now)
	require.NoError(t, checks.once("orders", func() error { return nil }))
	require.NotContains(t, checks.good["orders"].String(), "m=", "it has a reading of the monotonic clock")
}

func TestAClockThatIsSetBackProlongsNoAnswer(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{})
	now := created
	p.checks.now = func() time.Time { return now }
	require.NoError(t, p.CheckBus(t.Context(), "orders"))

	now = now.Add(-time.Hour)
	require.NoError(t, p.CheckBus(t.Context(), "orders"))
	require.Len(t, server.Describes(), 2)
}

func TestAMissingBusIsForbiddenUntilItIsThere(t *testing.T) {
	t.Parallel()
	for _, mode := range []BusCheck{BusWarn, BusRequire} {
		p, server := standIn(t, Config{BusCheck: mode})
		failed := requireFault(t, p.CheckBus(t.Context(), "ordres"), outbox.Forbidden)
		require.Equal(t, "ResourceNotFoundException", failed.Code)
		require.Contains(t, failed.Message, `no event bus "ordres" in us-east-1`)

		server.AddBus("ordres")
		require.NoError(t, p.CheckBus(t.Context(), "ordres"))
	}
}

func TestOffAsksNothing(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{BusCheck: BusOff})
	require.NoError(t, p.CheckBus(t.Context(), "missing"))
	require.Empty(t, server.Describes())
}

func TestWithoutPermissionWarnPublishesAndRequireDoesNot(t *testing.T) {
	t.Parallel()

	var log bytes.Buffer

	p, server := standIn(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	now := created
	p.checks.now = func() time.Time { return now }

	server.AlwaysDescribe(eventbridgetest.AccessDenied())
	for range 3 {
		require.NoError(t, p.CheckBus(t.Context(), "orders"))
		now = now.Add(time.Hour)
	}

	require.NoError(t, p.CheckBus(t.Context(), "other"))
	require.Equal(t, 2, strings.Count(log.String(), "level=WARN"), "once a bus")
	require.Contains(t, log.String(), "bus=orders")
	require.Contains(t, log.String(), "events:DescribeEventBus")

	p, server = standIn(t, Config{BusCheck: BusRequire})
	server.AlwaysDescribe(eventbridgetest.AccessDenied())

	failed := requireFault(t, p.CheckBus(t.Context(), "orders"), outbox.Forbidden)
	require.Contains(t, failed.Message, "Allow events:DescribeEventBus on this event bus to the function's role")
}

func TestWithoutAnAnswerABusIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, mode := range []BusCheck{BusWarn, BusRequire} {
		for _, fault := range []eventbridgetest.Fault{
			eventbridgetest.Unavailable(), eventbridgetest.Throttle(), eventbridgetest.Drop(),
			eventbridgetest.ExpiredToken(), eventbridgetest.InvalidSignature(),
		} {
			p, server := standIn(t, Config{BusCheck: mode})
			server.ScriptDescribe(fault)

			failed := requireFault(t, p.CheckBus(t.Context(), "orders"), outbox.Unavailable)
			require.Contains(t, failed.Message, "DescribeEventBus", "else it is looked for at PutEvents")
			require.NoError(t, p.CheckBus(t.Context(), "orders"), "the bad answer is not kept")
		}
	}
}

func TestACheckHasATimeLimit(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{Timeout: 50 * time.Millisecond})
	server.AlwaysDescribe(eventbridgetest.Hang())

	require.Equal(t, codeTimeout, requireFault(t, p.CheckBus(t.Context(), "orders"), outbox.Unavailable).Code)
}

func TestWithAGlobalEndpointTheRegionMayBeSilent(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{EndpointID: "abcde.veo"})
	require.NoError(t, p.CheckBus(t.Context(), "arn:aws:events:eu-west-1:123456789012:event-bus/orders"))
	require.Equal(t, []string{"orders"}, server.Describes(), "the other Region's ARN, asked for by name")
	requireFault(t, p.CheckBus(t.Context(), "missing"), outbox.Forbidden)

	server.AlwaysDescribe(eventbridgetest.Unavailable())
	require.NoError(t, p.CheckBus(t.Context(), "another"))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, codeCanceled, requireFault(t, p.CheckBus(ctx, "a third"), outbox.Unavailable).Code)

	p = newPublisher(t, server.URL(), Config{EndpointID: "abcde.veo", BusCheck: BusRequire})
	requireFault(t, p.CheckBus(t.Context(), "orders"), outbox.Unavailable)
}

func TestOneCallForABusIsInFlight(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		checks := newBusChecks(time.Now)
		release := make(chan struct{})
		calls, failures := map[string]int{}, map[string]int{}
		var (
			mu   sync.Mutex
			wait sync.WaitGroup
		)
		for range 10 {
			for _, bus := range []string{"good", "bad"} {
				wait.Go(func() {
					failed := checks.once(bus, func() error {
						mu.Lock()
						calls[bus]++
						mu.Unlock()

						<-release
						if bus == "bad" {
							return errors.New("no such bus")
						}
						return nil
					}) != nil

					mu.Lock()
					defer mu.Unlock()
					if failed {
						failures[bus]++
					}
				})
			}
		}

		synctest.Wait() // until all callers are waiting
		close(release)
		wait.Wait()
		require.Equal(t, map[string]int{"good": 1, "bad": 1}, calls)
		require.Equal(t, map[string]int{"bad": 10}, failures)
	})
}

func TestOutdatedAnswersAreForgotten(t *testing.T) {
	t.Parallel()

	now := created
	checks := newBusChecks(func() time.Time { return now })
	for _, bus := range []string{"a", "b", "c"} {
		require.NoError(t, checks.once(bus, func() error { return nil }))
		now = now.Add(45 * time.Second)
	}

	require.Len(t, checks.good, 2)
}
