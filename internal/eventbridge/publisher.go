package eventbridge

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"outboxrelay/internal/outbox"
)

// Publisher publishes to EventBridge. It is safe for concurrent use and keeps no goroutine.
type Publisher struct {
	client *sdk.Client
	config Config
	checks *busChecks
}

var _ outbox.Publisher = (*Publisher)(nil)

// New makes a publisher. Region, credentials and endpoints come from cfg, and so from the SDK's own variables. It makes no
// call. Config.Validate says beforehand what is wrong with config.
func New(cfg aws.Config, config Config) *Publisher {
	config = config.withDefaults()
	return &Publisher{client: newClient(cfg, config), config: config, checks: newBusChecks(time.Now)}
}

// Send makes one attempt to deliver a request, within Config.Timeout.
func (p *Publisher) Send(ctx context.Context, request outbox.Request) ([]outbox.Outcome, error) {
	if len(request.Entries) == 0 {
		return nil, nil
	}

	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()

	output, err := p.client.PutEvents(ctx, p.input(request))
	if err != nil {
		return refusal(request, p.failure(ctx, putEvents, err))
	}
	return results(request, output.Entries)
}

func (p *Publisher) input(request outbox.Request) *sdk.PutEventsInput {
	input := &sdk.PutEventsInput{Entries: make([]types.PutEventsRequestEntry, len(request.Entries))}
	if p.config.EndpointID != "" {
		input.EndpointId = &p.config.EndpointID
	}
	for i := range request.Entries {
		input.Entries[i] = p.requestEntry(&request.Bus, &request.Entries[i])
	}
	return input
}

func (p *Publisher) requestEntry(bus *string, entry *outbox.Entry) types.PutEventsRequestEntry {
	source := p.source(entry.Event)
	return types.PutEventsRequestEntry{
		EventBusName: bus,
		Source:       &source,
		DetailType:   &entry.Event.Type,
		Detail:       &entry.Detail,
		Time:         entryTime(entry.Event.CreatedAt),
		Resources:    p.config.Envelope.resources(entry.Event),
		TraceHeader:  traceHeader(entry.Event.Headers),
	}
}

func (p *Publisher) source(event *outbox.Event) string {
	return cmp.Or(event.Source, p.config.DefaultSource)
}

// entryTime leaves out what the SDK would falsify: it counts in nanoseconds, which overflow before 1678 and after 2262.
// EventBridge then takes the time of the call; the detail has the event's own.
func entryTime(t time.Time) *time.Time {
	if year := t.Year(); year < 1678 || year > 2261 {
		return nil
	}
	return &t
}
