package eventbridgetest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

// sized makes an entry of exactly n bytes by AWS's formula.
func sized(n int) types.PutEventsRequestEntry {
	const frame = len("shop") + len("OrderPlaced") + len(`{"p":""}`)
	return detail(`{"p":"` + strings.Repeat("x", n-frame) + `"}`)
}

func TestSize(t *testing.T) {
	t.Parallel()

	t.Run("CountsAsAWSDoes", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		mustPut(t, srv, types.PutEventsRequestEntry{
			Time: aws.Time(time.Unix(1, 0)), Source: aws.String("ä"), DetailType: aws.String("abc"),
			Detail: aws.String(`{"k":"€"}`), Resources: []string{"12", "3456"},
			EventBusName: aws.String("default"), TraceHeader: aws.String("Root=1"),
		}, entry())

		request := srv.Requests()[0]
		require.Equal(t, 14+2+3+len(`{"k":"€"}`)+6, request.Entries[0].Size)
		require.Equal(t, len("shop")+len("OrderPlaced")+len(`{"total":1.10}`), request.Entries[1].Size)
		require.Equal(t, request.Entries[0].Size+request.Entries[1].Size, request.Size)
	})

	t.Run("AcceptsTheLimitAndRefusesOneByteMore", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		mustPut(t, srv, sized(500_000), sized(500_000))
		require.Zero(t, srv.Oversized())
		_, err := put(t, srv, sized(500_000), sized(500_001))
		requireInvalid(t, err, "Total size of the entries in the request is over the limit.")
		require.Equal(t, 1, srv.Oversized())
		require.Equal(t, 2, srv.Stats().Accepted)
	})

	t.Run("TakesTheLimitFromMaxBytes", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t, eventbridgetest.WithMaxBytes(256*1024))
		mustPut(t, srv, sized(256*1024))
		_, err := put(t, srv, sized(256*1024+1))
		requireInvalid(t, err, "over the limit")
	})

	t.Run("AnswersABare413FarOver", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		_, err := put(t, srv, sized(3_000_000))
		requireRefused(t, err, http.StatusRequestEntityTooLarge, "UnknownError", "")
		require.Equal(t, 1, srv.Oversized())
		require.Equal(t, http.StatusRequestEntityTooLarge, srv.Requests()[0].Status)
	})

	t.Run("TakesTheBodyLimitFromMaxBodyBytes", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t, eventbridgetest.WithMaxBodyBytes(1000))
		mustPut(t, srv, sized(500))
		_, err := put(t, srv, sized(1000))
		requireRefused(t, err, http.StatusRequestEntityTooLarge, "UnknownError", "")
	})

	t.Run("AcceptsALegalDetailThatEscapingDoubles", func(t *testing.T) {
		t.Parallel()
		quotes := detail("{\"p\":[" + strings.Repeat(`"",`, 333_000) + "1]}")
		require.Equal(t, []string{""}, mustPut(t, eventbridgetest.New(t), quotes))
	})
}
