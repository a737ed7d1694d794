package eventbridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
)

// noRoute is why a function in a private subnet hears nothing.
const noRoute = "no route: the function's subnets need a NAT gateway or an interface endpoint for events"

// unanswered is a call whose time was over, the caller's or its own.
func (p *Publisher) unanswered(ctx context.Context) failure {
	if errors.Is(ctx.Err(), context.Canceled) {
		return unavailable(codeCanceled, "the call to EventBridge was canceled before an answer came")
	}
	return unavailable(codeTimeout, fmt.Sprintf("EventBridge at %s gave no answer in time (limit %s). If it never does: %s",
		p.host(ctx), p.config.Timeout, noRoute))
}

// unsent is a call that no answer came for: there was no connection, or it broke, or the request could not be made.
func (p *Publisher) unsent(err error) failure {
	var exchange *url.Error
	if !errors.As(err, &exchange) {
		return unavailable(codeNotSent, "the request to EventBridge could not be made: "+printable(err.Error()))
	}

	host := exchange.URL
	if parsed, err := url.Parse(exchange.URL); err == nil {
		host = parsed.Host
	}
	return unavailable(codeUnreachable, fmt.Sprintf("EventBridge at %s: %s%s",
		host, printable(exchange.Err.Error()), likelyCause(exchange.Err)))
}

func likelyCause(err error) string {
	var (
		dial *net.OpError
		name *net.DNSError
	)
	switch {
	case errors.As(err, &name):
		return ". The name cannot be resolved: check the Region, the endpoint and the VPC's DNS settings"
	case errors.Is(err, syscall.ECONNREFUSED):
		return ". Nothing listens there: check the endpoint"
	case errors.As(err, &dial) && dial.Op == "dial":
		return ". Probably " + noRoute
	default:
		return ""
	}
}

// host is where requests go, for messages.
func (p *Publisher) host(ctx context.Context) string {
	o := p.client.Options()
	fips := o.EndpointOptions.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled
	dual := o.EndpointOptions.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled
	parameters := sdk.EndpointParameters{Region: &o.Region, Endpoint: o.BaseEndpoint, UseFIPS: &fips, UseDualStack: &dual}
	if p.config.EndpointID != "" {
		parameters.EndpointId = &p.config.EndpointID
	}

	endpoint, err := o.EndpointResolverV2.ResolveEndpoint(context.WithoutCancel(ctx), parameters)
	if err != nil {
		return "an unknown endpoint"
	}
	return endpoint.URI.Host
}
