package eventbridge

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/outbox"
)

const (
	testID      = "0198c2a4-7a6e-7bd2-9d52-6a2c6c1f0b11"
	testPayload = `{"total": 1.10}`
)

var created = time.Date(2026, 11, 30, 9, 8, 7, 654321000, time.UTC)

// anEvent is good in every envelope; each change makes it what the test is about.
func anEvent(changes ...func(*outbox.Event)) outbox.Event {
	event := outbox.Event{
		Seq: 42, ID: testID, AggregateType: "order", AggregateID: "o-7", Type: "OrderPlaced",
		Payload: testPayload, Bus: "orders", CreatedAt: created,
	}
	for _, change := range changes {
		change(&event)
	}
	return event
}

func payload(text string) func(*outbox.Event) { return func(e *outbox.Event) { e.Payload = text } }
func headers(text string) func(*outbox.Event) { return func(e *outbox.Event) { e.Headers = text } }
func onBus(bus string) func(*outbox.Event)    { return func(e *outbox.Event) { e.Bus = bus } }
func ofType(name string) func(*outbox.Event)  { return func(e *outbox.Event) { e.Type = name } }
func from(source string) func(*outbox.Event)  { return func(e *outbox.Event) { e.Source = source } }

// someEvents are n good events with ids of their own.
func someEvents(n int, changes ...func(*outbox.Event)) []outbox.Event {
	events := make([]outbox.Event, n)
	for i := range events {
		events[i] = anEvent(changes...)
		events[i].Seq = int64(i + 1)
		events[i].ID = fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1)
	}
	return events
}

func awsConfig(url string) aws.Config {
	cfg := aws.Config{
		Region:      eventbridgetest.Region,
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "not-a-secret", ""),
	}
	if url != "" {
		cfg.BaseEndpoint = &url
	}
	return cfg
}

// quiet is a config whose warnings nobody reads.
func quiet(config Config) Config {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return config
}

func newPublisher(t *testing.T, url string, config Config) *Publisher {
	t.Helper()
	require.NoError(t, config.Validate())
	return New(awsConfig(url), quiet(config))
}

// standIn is EventBridge with the bus that anEvent goes to, and a publisher for it.
func standIn(t *testing.T, config Config) (*Publisher, *eventbridgetest.Server) {
	t.Helper()

	server := eventbridgetest.New(t, eventbridgetest.WithBuses("orders"))
	return newPublisher(t, server.URL(), config), server
}

// packed is the one request that the events fit into.
func packed(t *testing.T, p *Publisher, events ...outbox.Event) outbox.Request {
	t.Helper()

	requests, poison := p.Pack(events)
	require.Empty(t, poison)
	require.Len(t, requests, 1)
	return requests[0]
}

func verdicts(outcomes []outbox.Outcome) []outbox.Verdict {
	list := make([]outbox.Verdict, len(outcomes))
	for i := range outcomes {
		list[i] = outcomes[i].Verdict
	}
	return list
}

// requireFault asserts that err is a *outbox.RequestError, and returns it.
func requireFault(t *testing.T, err error, fault outbox.Fault) outbox.RequestError {
	t.Helper()

	var failed *outbox.RequestError

	require.ErrorAs(t, err, &failed)
	require.Equal(t, fault, failed.Fault, "%s", failed)
	return *failed
}

// answering serves one reply to every request.
func answering(t *testing.T, status int, body string) string {
	t.Helper()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
