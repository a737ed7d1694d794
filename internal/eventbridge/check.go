package eventbridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"outboxrelay/internal/outbox"
)

// checkFor is how long a good answer is good for.
const checkFor = time.Minute

// CheckBus asks DescribeEventBus, within Config.Timeout, unless it agreed within the last minute. Callers at the same time
// share a call, and so its fate. A bad answer is not kept.
func (p *Publisher) CheckBus(ctx context.Context, bus string) error {
	if p.config.BusCheck == BusOff {
		return nil
	}
	return p.checks.once(bus, func() error {
		ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
		defer cancel()
		return p.describe(ctx, bus)
	})
}

func (p *Publisher) describe(ctx context.Context, bus string) error {
	name := bus
	if p.config.EndpointID != "" {
		name = busName(bus) // it may be the other Region's ARN
	}

	_, err := p.client.DescribeEventBus(ctx, &sdk.DescribeEventBusInput{Name: &name})
	if err == nil {
		return nil
	}

	f := p.failure(ctx, describeEventBus, err)
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		f.Message = fmt.Sprintf("There is no event bus %q in %s, and what is sent there is lost. "+
			"Create it, or correct the name, the Region or the account.", truncated(bus, maxMessage), p.client.Options().Region)
	}
	return p.judge(ctx, bus, &f.RequestError)
}

// judge says whether a check that failed keeps events back.
func (p *Publisher) judge(ctx context.Context, bus string, err *outbox.RequestError) error {
	denied := strings.HasPrefix(err.Code, "AccessDenied") && err.Fault == outbox.Forbidden
	switch err.Fault {
	case outbox.Refused: // no such name
		err.Fault = outbox.Forbidden
	case outbox.Throttled: // DescribeEventBus has a limit of its own, which says nothing of PutEvents
		err.Fault = outbox.Unavailable
	case outbox.Forbidden, outbox.Unavailable:
	}

	silent := err.Fault == outbox.Unavailable && err.Code != codeCanceled && p.config.EndpointID != ""
	if p.config.BusCheck == BusRequire || !denied && !silent {
		if err.Fault == outbox.Unavailable { // the others name the operation in their advice
			err.Message = "DescribeEventBus, which tells whether it is there: " + err.Message
		}
		return err
	}
	if p.checks.firstWarning(bus) {
		p.config.Logger.WarnContext(ctx, "event bus not checked, events for a bus that does not exist are lost",
			"bus", bus, "error_code", err.Code, "error", err.Message)
	}
	return nil
}
