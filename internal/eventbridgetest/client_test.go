package eventbridgetest_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

// newClient makes the real client, with one attempt a call unless a test says otherwise.
func newClient(srv *eventbridgetest.Server, change ...func(*eventbridge.Options)) *eventbridge.Client {
	return eventbridge.New(eventbridge.Options{
		BaseEndpoint:     aws.String(srv.URL()),
		Region:           "us-east-1",
		Credentials:      credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
		HTTPClient:       srv.Client(),
		RetryMaxAttempts: 1,
	}, change...)
}

// entry is a good one; change spoils it.
func entry(change ...func(*types.PutEventsRequestEntry)) types.PutEventsRequestEntry {
	e := types.PutEventsRequestEntry{
		Source: aws.String("shop"), DetailType: aws.String("OrderPlaced"), Detail: aws.String(`{"total":1.10}`),
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

// event is an entry as the relay makes it, with an identity.
func event(id string) types.PutEventsRequestEntry {
	return detail(`{"metadata":{"id":"` + id + `"},"data":{}}`)
}

func events(n int) []types.PutEventsRequestEntry {
	entries := make([]types.PutEventsRequestEntry, n)
	for i := range entries {
		entries[i] = event("e" + strconv.Itoa(i))
	}
	return entries
}

func detail(text string) types.PutEventsRequestEntry {
	return entry(func(e *types.PutEventsRequestEntry) { e.Detail = &text })
}

func source(name string) types.PutEventsRequestEntry {
	return entry(func(e *types.PutEventsRequestEntry) { e.Source = &name })
}

func detailType(name string) types.PutEventsRequestEntry {
	return entry(func(e *types.PutEventsRequestEntry) { e.DetailType = &name })
}

func onBus(name string) types.PutEventsRequestEntry {
	return entry(func(e *types.PutEventsRequestEntry) { e.EventBusName = &name })
}

func putTo(
	ctx context.Context, client *eventbridge.Client, entries ...types.PutEventsRequestEntry,
) (*eventbridge.PutEventsOutput, error) {
	return client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
}

func put(
	t *testing.T, srv *eventbridgetest.Server, entries ...types.PutEventsRequestEntry,
) (*eventbridge.PutEventsOutput, error) {
	t.Helper()
	return putTo(t.Context(), newClient(srv), entries...)
}

// mustPut requires an answer and returns the error code of every entry, "" where it was accepted.
func mustPut(t *testing.T, srv *eventbridgetest.Server, entries ...types.PutEventsRequestEntry) []string {
	t.Helper()

	out, err := put(t, srv, entries...)
	require.NoError(t, err)
	require.Len(t, out.Entries, len(entries))
	return codes(out)
}

func codes(out *eventbridge.PutEventsOutput) []string {
	all := make([]string, len(out.Entries))
	for i, e := range out.Entries {
		all[i] = aws.ToString(e.ErrorCode)
	}
	return all
}

func describe(t *testing.T, srv *eventbridgetest.Server, bus string) (*eventbridge.DescribeEventBusOutput, error) {
	t.Helper()
	return newClient(srv).DescribeEventBus(t.Context(), &eventbridge.DescribeEventBusInput{Name: aws.String(bus)})
}

// requireRefused checks status, code and message of a refused request.
func requireRefused(t *testing.T, err error, status int, code, message string) {
	t.Helper()

	var response *smithyhttp.ResponseError
	require.ErrorAs(t, err, &response)
	require.Equal(t, status, response.HTTPStatusCode())

	var refused smithy.APIError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.ErrorCode())
	require.Contains(t, refused.ErrorMessage(), message)
}

func requireInvalid(t *testing.T, err error, message string) {
	t.Helper()
	requireRefused(t, err, http.StatusBadRequest, "ValidationException", message)
}

// requireNoReply checks that no refusal and no usable answer came.
func requireNoReply(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)

	var refused smithy.APIError
	require.NotErrorAs(t, err, &refused)
}
