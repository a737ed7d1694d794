package eventbridge

import (
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
)

const (
	// connectTimeout is short: within a Region a connection takes milliseconds, and where there is no route nothing answers.
	connectTimeout = 3 * time.Second

	// idleTimeout is shorter than the minute between two runs. While a sandbox is frozen its connections die unnoticed, and
	// a request on a dead one hangs until its timeout. The transport measures it by the wall clock, so it counts the freeze.
	idleTimeout = 30 * time.Second
)

func newClient(cfg aws.Config, config Config) *sdk.Client {
	return sdk.NewFromConfig(cfg, func(o *sdk.Options) {
		o.Retryer = aws.NopRetryer{}
		o.RetryMaxAttempts = 1 // AWS_MAX_ATTEMPTS is for clients without a relay behind them
		o.HTTPClient = limited{newHTTPClient(cfg.HTTPClient, config)}
	})
}

// replyMax is more than any reply to our calls has, in bytes.
const replyMax = 1 << 20

// limited is a client that reads no more of a reply than it can need: the rest is cut off, and the reply unreadable.
type limited struct{ aws.HTTPClient }

// Do sends a request.
func (l limited) Do(request *http.Request) (*http.Response, error) {
	response, err := l.HTTPClient.Do(request)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, replyMax), response.Body}
	}
	return response, err
}

// newHTTPClient tunes the SDK's own HTTP client, with what the SDK's settings made of it (AWS_CA_BUNDLE). Any other is its
// owner's business.
func newHTTPClient(base aws.HTTPClient, config Config) aws.HTTPClient {
	if base == nil {
		base = awshttp.NewBuildableClient()
	}

	buildable, ok := base.(*awshttp.BuildableClient)
	if !ok {
		return base
	}

	// Frozen, or else the SDK's defaults mode would set the timeouts again.
	return buildable.
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = min(connectTimeout, config.Timeout) }).
		WithTransportOptions(func(t *http.Transport) { tune(t, config.Concurrency) }).
		Freeze()
}

func tune(t *http.Transport, concurrency int) {
	t.TLSHandshakeTimeout = connectTimeout
	t.IdleConnTimeout = idleTimeout
	t.MaxIdleConnsPerHost = concurrency
	t.MaxIdleConns = max(t.MaxIdleConns, 2*concurrency) // a global endpoint is a second host

	// HTTP/1.1 only: a request that times out closes its connection. Under HTTP/2 all share one, which survives the timeouts
	// of those it fails.
	t.ForceAttemptHTTP2 = false
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
}
