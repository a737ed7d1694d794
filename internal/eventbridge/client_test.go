package eventbridge

import (
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/eventbridgetest/awsjson"
	"outboxrelay/internal/outbox"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAGlobalEndpointHasItsHostAndSignature(t *testing.T) {
	t.Parallel()

	var seen *http.Request

	cfg := awsConfig("")
	cfg.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		seen = r
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"Entries":[{"EventId":"e"}]}`)),
		}, nil
	})}
	p := New(cfg, quiet(Config{EndpointID: "abcde.veo"}))

	outcomes, err := p.Send(t.Context(), packed(t, p, anEvent()))
	require.NoError(t, err)
	require.Equal(t, []outbox.Verdict{outbox.Accepted}, verdicts(outcomes))
	require.Equal(t, "abcde.veo.endpoint.events.amazonaws.com", seen.URL.Host)
	require.True(t, strings.HasPrefix(seen.Header.Get("Authorization"), awsjson.SigV4A+" "))
	require.Equal(t, "*", seen.Header.Get("X-Amz-Region-Set"))
	require.Equal(t, seen.URL.Host, p.host(t.Context()))
}

func TestAGlobalEndpointWorksWithTheStandIn(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{EndpointID: "abcde.veo"})

	_, err := p.Send(t.Context(), packed(t, p, anEvent()))
	require.NoError(t, err)
	require.Equal(t, awsjson.SigV4A, server.Requests()[0].Algorithm)
	require.Equal(t, "abcde.veo", server.Requests()[0].EndpointID)
}

// Not parallel: it is about the environment.
func TestTheSDKsOwnVariablesAreFollowedButForRetries(t *testing.T) {
	server := eventbridgetest.New(t, eventbridgetest.WithBuses("orders"))
	t.Setenv("AWS_ENDPOINT_URL_EVENTBRIDGE", server.URL())
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
	t.Setenv("AWS_MAX_ATTEMPTS", "5")
	t.Setenv("AWS_RETRY_MODE", "adaptive")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")

	cfg, err := config.LoadDefaultConfig(t.Context())
	require.NoError(t, err)

	p := New(cfg, quiet(Config{}))
	server.Script(eventbridgetest.Unavailable())

	_, err = p.Send(t.Context(), packed(t, p, anEvent()))
	requireFault(t, err, outbox.Unavailable)
	require.Len(t, server.Requests(), 1)

	outcomes, err := p.Send(t.Context(), packed(t, p, anEvent()))
	require.NoError(t, err)
	require.Equal(t, []outbox.Verdict{outbox.Accepted}, verdicts(outcomes))
}

func TestConnectionsAreKeptForAllCallsInFlight(t *testing.T) {
	t.Parallel()

	const concurrency = 32

	var (
		opened atomic.Int32
		wave   sync.WaitGroup // a request is answered once all of its wave are in flight
	)

	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		wave.Done()
		wave.Wait()
		_, _ = w.Write([]byte(`{"Entries":[{"EventId":"e"}]}`))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}

	server.Start()
	t.Cleanup(server.Close)

	p := newPublisher(t, server.URL, Config{Concurrency: concurrency})
	errs := make(chan error, 3*concurrency)
	for range 3 {
		wave.Add(concurrency)

		var sends sync.WaitGroup
		for range concurrency {
			sends.Go(func() {
				requests, _ := p.Pack(someEvents(1))
				_, err := p.Send(t.Context(), requests[0])
				errs <- err
			})
		}

		sends.Wait()
	}

	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}

	require.EqualValues(t, concurrency, opened.Load())
}

func TestTheTransportIsHTTP1WithShortTimeouts(t *testing.T) {
	t.Parallel()

	transport := &http.Transport{ForceAttemptHTTP2: true}
	tune(transport, 64)

	require.Equal(t, 64, transport.MaxIdleConnsPerHost)
	require.Equal(t, connectTimeout, transport.TLSHandshakeTimeout)
	require.Equal(t, idleTimeout, transport.IdleConnTimeout)
	require.False(t, transport.ForceAttemptHTTP2)
	require.False(t, transport.Protocols.HTTP2())
}

func TestConcurrentSendsAreAllAnswered(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{Concurrency: 16})

	errs := make(chan error, 64)

	var wait sync.WaitGroup
	for range cap(errs) {
		wait.Go(func() {
			requests, _ := p.Pack(someEvents(10))
			_, err := p.Send(t.Context(), requests[0])
			errs <- err
		})
	}

	wait.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}

	require.Equal(t, 640, server.Stats().Accepted)
}

func TestTheSDKsSettingsOfItsHTTPClientStay(t *testing.T) {
	t.Parallel()

	server := eventbridgetest.New(t, eventbridgetest.WithTLS(), eventbridgetest.WithBuses("orders"))
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(server.CertificatePEM()))

	cfg := awsConfig(server.URL()) // as AWS_CA_BUNDLE makes it
	cfg.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.TLSClientConfig.RootCAs = roots })
	p := New(cfg, quiet(Config{}))

	_, err := p.Send(t.Context(), packed(t, p, anEvent()))
	require.NoError(t, err)
}

// Memory is not at the mercy of what answers.
func TestReadsNoMoreOfAReplyThanItCanNeed(t *testing.T) {
	t.Parallel()

	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"FailedEntryCount":0,"Entries":[{"EventId":"`+strings.Repeat("e", 2*replyMax)+`"}]}`)
	}))
	t.Cleanup(endless.Close)
	p := newPublisher(t, endless.URL, Config{})

	_, err := p.Send(t.Context(), packed(t, p, anEvent()))

	var failed *outbox.RequestError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, outbox.Unavailable, failed.Fault)
	require.Equal(t, codeUnreadable, failed.Code)
}
