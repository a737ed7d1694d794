package eventbridge

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/outbox"
)

func TestEveryRefusalOfARequestHasItsFault(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		code   string
		fault  outbox.Fault
		lone   outbox.Verdict // where the fault is Refused
	}{
		{413, "", outbox.Refused, outbox.Poison},
		{413, "RequestEntityTooLargeException", outbox.Refused, outbox.Poison},
		{400, "ValidationException", outbox.Refused, outbox.Poison},
		{400, "ValidationError", outbox.Refused, outbox.Poison},
		{400, "SerializationException", outbox.Refused, outbox.Unknown},
		{400, "SomethingNew", outbox.Refused, outbox.Unknown},

		{400, "ThrottlingException", outbox.Throttled, 0},
		{429, "TooManyRequestsException", outbox.Throttled, 0},
		{429, "", outbox.Throttled, 0},
		{503, "RequestLimitExceeded", outbox.Throttled, 0},
		{503, "SlowDown", outbox.Throttled, 0},
		{400, "Throttling", outbox.Throttled, 0},

		{400, "AccessDeniedException", outbox.Forbidden, 0},
		{403, "AccessDenied", outbox.Forbidden, 0},
		{403, "UnrecognizedClientException", outbox.Forbidden, 0},
		{403, "InvalidClientTokenId", outbox.Forbidden, 0},
		{400, "MissingAuthenticationTokenException", outbox.Forbidden, 0},
		{400, "InvalidAccountId", outbox.Forbidden, 0},
		{400, "ResourceNotFoundException", outbox.Forbidden, 0},
		{400, "UnknownOperationException", outbox.Forbidden, 0},
		{403, "", outbox.Forbidden, 0},
		{403, "SomethingNew", outbox.Forbidden, 0},
		{404, "", outbox.Forbidden, 0},

		{400, "ExpiredTokenException", outbox.Unavailable, 0},
		{403, "ExpiredToken", outbox.Unavailable, 0},
		{403, "InvalidSignatureException", outbox.Unavailable, 0},
		{403, "SignatureDoesNotMatch", outbox.Unavailable, 0},
		{400, "RequestExpired", outbox.Unavailable, 0},
		{403, "RequestTimeTooSkewed", outbox.Unavailable, 0},
		{500, "InternalException", outbox.Unavailable, 0},
		{500, "InternalFailure", outbox.Unavailable, 0},
		{400, "InternalFailure", outbox.Unavailable, 0},
		{503, "ServiceUnavailable", outbox.Unavailable, 0},
		{503, "SomethingNew", outbox.Unavailable, 0},
		{502, "", outbox.Unavailable, 0},
		{504, "", outbox.Unavailable, 0},
		{408, "", outbox.Unavailable, 0},
		{400, "", outbox.Unavailable, 0},
		{301, "", outbox.Unavailable, 0},
	} {
		p, server := standIn(t, Config{})
		server.Always(eventbridgetest.Refuse(test.status, test.code, "no"))
		outcomes, err := p.Send(t.Context(), packed(t, p, someEvents(2)...))
		require.Empty(t, outcomes)
		failed := requireFault(t, err, test.fault)
		require.NotEmpty(t, failed.Code)
		require.NotEmpty(t, failed.Message)
		require.NotContains(t, failed.Code, "Unknown"+"Error")
		outcomes, err = p.Send(t.Context(), packed(t, p, anEvent()))
		if test.fault != outbox.Refused {
			requireFault(t, err, test.fault)

			continue
		}

		require.NoError(t, err, test.code)
		require.Equal(t, []outbox.Verdict{test.lone}, verdicts(outcomes))
		require.Equal(t, failed.Code, outcomes[0].Code)
		require.Contains(t, outcomes[0].Message, "bytes)")
		require.Len(t, server.Requests(), 2, "one attempt each")
	}
}

func TestAnErrorPageIsReadByItsStatus(t *testing.T) {
	t.Parallel()
	for status, fault := range map[int]outbox.Fault{
		http.StatusBadRequest: outbox.Unavailable, http.StatusForbidden: outbox.Forbidden, http.StatusRequestEntityTooLarge: outbox.Refused,
		http.StatusTooManyRequests: outbox.Throttled, http.StatusBadGateway: outbox.Unavailable,
	} {
		p := newPublisher(t, answering(t, status, "<html>pardon</html>"), Config{})
		_, err := p.Send(t.Context(), packed(t, p, someEvents(2)...))
		requireFault(t, err, fault)
	}
}

func TestARequestOverTheServicesOwnLimitIsRefused(t *testing.T) {
	t.Parallel()

	big := payload(`"` + strings.Repeat("x", 3000) + `"`)
	for _, option := range []eventbridgetest.Option{eventbridgetest.WithMaxBytes(2000), eventbridgetest.WithMaxBodyBytes(2000)} {
		server := eventbridgetest.New(t, eventbridgetest.WithBuses("orders"), option)
		p := newPublisher(t, server.URL(), Config{})
		_, err := p.Send(t.Context(), packed(t, p, someEvents(2, big)...))
		requireFault(t, err, outbox.Refused)
		outcomes, err := p.Send(t.Context(), packed(t, p, anEvent(big)))
		require.NoError(t, err)
		require.Equal(t, []outbox.Verdict{outbox.Poison}, verdicts(outcomes))
		require.Empty(t, server.Accepted())
	}
}

func TestForbiddenSaysWhatToDo(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{})
	server.Script(eventbridgetest.AccessDenied())

	_, err := p.Send(t.Context(), packed(t, p, anEvent()))
	require.Contains(t, requireFault(t, err, outbox.Forbidden).Message, "Allow events:PutEvents on this event bus to the function's role")
}

func TestNoRefusalQuotesAPayload(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{})
	secret := anEvent(payload(`{"pin":4711}`))
	echo := "1 validation error detected: Value '[PutEventsRequestEntry(detail={\"pin\":4711})]' at 'entries' failed: {\"pin\":4711}"

	server.Script(eventbridgetest.Refuse(http.StatusBadRequest, "ValidationException", echo),
		eventbridgetest.FailEntries("MalformedDetail", "Detail is malformed: {\"pin\":4711}"))
	for range 2 {
		outcomes, err := p.Send(t.Context(), packed(t, p, secret))
		require.NoError(t, err)
		require.Equal(t, outbox.Poison, outcomes[0].Verdict)
		require.NotContains(t, outcomes[0].Message, "4711")
	}
}

// A reply that was held up sets the SDK's clock back; the refusal that follows sets it right.
func TestAStaleDateCostsOneRequest(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{})
	server.Script(eventbridgetest.StaleDate(10 * time.Minute))

	_, err := p.Send(t.Context(), packed(t, p, anEvent()))
	require.NoError(t, err)

	_, err = p.Send(t.Context(), packed(t, p, anEvent()))
	require.Equal(t, "InvalidSignatureException", requireFault(t, err, outbox.Unavailable).Code)

	_, err = p.Send(t.Context(), packed(t, p, anEvent()))
	require.NoError(t, err)
}

func TestADenialBesideASkewedClockIsNoDenial(t *testing.T) {
	t.Parallel()

	p, server := standIn(t, Config{})
	server.Script(eventbridgetest.Both(eventbridgetest.AccessDenied(), eventbridgetest.StaleDate(10*time.Minute)))

	_, err := p.Send(t.Context(), packed(t, p, anEvent()))
	require.Equal(t, "AccessDeniedException", requireFault(t, err, outbox.Unavailable).Code)
}

func TestAnUnreachableServiceIsNamedWithTheLikelyCause(t *testing.T) {
	t.Parallel()

	blackhole := &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}
	for _, test := range []struct {
		err      error
		messages []string
	}{
		{blackhole, []string{"events.us-east-1.amazonaws.com", "no route: the function's subnets need a NAT gateway or an interface endpoint for events"}},
		{&net.DNSError{Err: "no such host", Name: "events.xx.amazonaws.com"}, []string{"events.us-east-1.amazonaws.com", "no such host", "VPC's DNS"}},
		{errors.New("connection reset by peer"), []string{"events.us-east-1.amazonaws.com", "connection reset by peer"}},
	} {
		cfg := awsConfig("")
		cfg.HTTPClient = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, test.err })}
		p := New(cfg, quiet(Config{}))
		_, err := p.Send(t.Context(), packed(t, p, anEvent()))
		failed := requireFault(t, err, outbox.Unavailable)
		require.Equal(t, codeUnreachable, failed.Code)
		for _, message := range test.messages {
			require.Contains(t, failed.Message, message)
		}
	}
}

func TestARefusedConnectionIsUnavailable(t *testing.T) {
	t.Parallel()

	server := eventbridgetest.New(t)
	p := newPublisher(t, server.URL(), Config{})
	server.Close()

	_, err := p.Send(t.Context(), packed(t, p, anEvent()))
	require.Contains(t, requireFault(t, err, outbox.Unavailable).Message, "Nothing listens there")
}

func TestCredentialsThatCannotBeFetchedAreUnavailable(t *testing.T) {
	t.Parallel()

	denied := &smithy.OperationError{ServiceID: "STS", OperationName: "AssumeRole", Err: &smithy.GenericAPIError{Code: "AccessDenied", Message: "not now"}}
	for err, message := range map[error]string{denied: "STS.AssumeRole failed", errors.New("no credentials"): "no credentials"} {
		cfg := awsConfig("")
		cfg.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, err })
		p := New(cfg, quiet(Config{}))
		_, err := p.Send(t.Context(), packed(t, p, anEvent()))
		failed := requireFault(t, err, outbox.Unavailable)
		require.Equal(t, codeNotSent, failed.Code)
		require.Contains(t, failed.Message, message)
	}
}

// A service that calls every request too large says nothing of a small event.
func TestOnlyALargeEventIsCertainlyTooLarge(t *testing.T) {
	t.Parallel()

	for size, doubtful := range map[int]bool{100: true, certainlyLarge - 1: true, certainlyLarge: false} {
		event := anEvent()
		refused := failure{outbox.RequestError{Fault: outbox.Refused, Code: codeTooLarge}, outbox.Poison}

		outcomes, err := refusal(outbox.Request{Entries: []outbox.Entry{{Event: &event, Size: size}}}, refused)

		require.NoError(t, err)
		require.Equal(t, doubtful, outcomes[0].Doubtful, size)
	}
}
