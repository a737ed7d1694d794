package eventbridgetest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
	"outboxrelay/internal/eventbridgetest/awsjson"
)

func TestServer(t *testing.T) {
	t.Parallel()

	t.Run("StartsOutsideOfATest", func(t *testing.T) {
		t.Parallel()
		srv, err := eventbridgetest.Start()
		require.NoError(t, err)
		mustPut(t, srv, entry())
		srv.Close()
		srv.Close()
		_, err = put(t, srv, entry())
		requireNoReply(t, err)
	})

	t.Run("ListensWhereItIsTold", func(t *testing.T) {
		t.Parallel()
		first := eventbridgetest.New(t)
		address := strings.TrimPrefix(first.URL(), "http://")
		_, err := eventbridgetest.Start(eventbridgetest.WithAddress(address))
		require.ErrorContains(t, err, "listen on "+address)

		first.Close()
		second := eventbridgetest.New(t, eventbridgetest.WithAddress(address))
		require.Equal(t, first.URL(), second.URL())
	})

	t.Run("SpeaksTLSToWhoTrustsItsCertificate", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t, eventbridgetest.WithTLS())
		mustPut(t, srv, entry())
		bundle := filepath.Join(t.TempDir(), "ca.pem")
		require.NoError(t, os.WriteFile(bundle, srv.CertificatePEM(), 0o600))
		pem, err := os.Open(bundle)
		require.NoError(t, err)
		defer func() { require.NoError(t, pem.Close()) }()
		cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("us-east-1"), config.WithCustomCABundle(pem),
			config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKID", "SECRET", "")))
		require.NoError(t, err)
		client := eventbridge.NewFromConfig(cfg, func(o *eventbridge.Options) { o.BaseEndpoint = aws.String(srv.URL()) })
		_, err = putTo(t.Context(), client, entry())
		require.NoError(t, err)
	})

	t.Run("HasNoCertificateWithoutTLS", func(t *testing.T) {
		t.Parallel()
		require.Nil(t, eventbridgetest.New(t).CertificatePEM())
	})

	t.Run("DropsTheConnectionMidWayAlsoUnderTLS", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t, eventbridgetest.WithTLS())
		srv.Script(eventbridgetest.AcceptThenDrop())
		_, err := put(t, srv, entry())
		requireNoReply(t, err)
		require.Len(t, srv.Accepted(), 1)
	})

	t.Run("RecordsTheSignatureOfAGlobalEndpoint", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		_, err := newClient(srv).PutEvents(t.Context(), &eventbridge.PutEventsInput{
			EndpointId: aws.String("abcde.veo"), Entries: []types.PutEventsRequestEntry{entry()},
		})
		require.NoError(t, err)
		request := srv.Requests()[0]
		require.Equal(t, awsjson.SigV4A, request.Algorithm)
		require.Equal(t, "abcde.veo", request.EndpointID)
	})
}
