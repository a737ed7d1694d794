package eventbridgetest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

type rawReply struct {
	status int
	header http.Header
	body   string
}

// signed are headers good enough for a server that does not verify signatures.
func signed() map[string]string {
	return map[string]string{
		"X-Amz-Target":  "AWSEvents.PutEvents",
		"Authorization": "AWS4-HMAC-SHA256 Credential=x",
		"X-Amz-Date":    time.Now().UTC().Format("20060102T150405Z"),
	}
}

// post sends what the SDK would not.
func post(t *testing.T, srv *eventbridgetest.Server, header map[string]string, body string) rawReply {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL(), strings.NewReader(body))
	require.NoError(t, err)
	for key, value := range header {
		r.Header.Set(key, value)
	}

	response, err := srv.Client().Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()

	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return rawReply{response.StatusCode, response.Header, string(text)}
}

func TestReply(t *testing.T) {
	t.Parallel()

	t.Run("HasAWSsShape", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		body := `{"Entries":[{"Source":"s","DetailType":"t","Detail":"{}","Time":1700000000.123},{"Source":"s"}]}`
		reply := post(t, srv, signed(), body)
		require.Equal(t, http.StatusOK, reply.status)
		require.Equal(t, "application/x-amz-json-1.1", reply.header.Get("Content-Type"))
		require.Len(t, reply.header.Get("X-Amzn-Requestid"), 36)
		require.Equal(t, int64(1700000000123), srv.Accepted()[0].Time.UnixMilli())
		require.JSONEq(t, `{"FailedEntryCount":1,"Entries":[{"EventId":"`+srv.Accepted()[0].EventID+`"},
			{"ErrorCode":"InvalidArgument",
			 "ErrorMessage":"Parameter DetailType is not valid. Reason: DetailType is a required argument."}]}`, reply.body)
	})

	t.Run("ReadsNullsAndIgnoresUnknownMembers", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		post(t, srv, signed(), `{"New":{"a":[1,"x"]},"Entries":[{"Source":"s","DetailType":"t","Detail":"{\"k\":\"\\u00e9\"}",
			"Resources":null,"Time":null,"TraceHeader":null,"EventBusName":null,"New":{"b":[true]}}]}`)
		require.Len(t, srv.Accepted(), 1)
		require.JSONEq(t, `{"k":"é"}`, srv.Accepted()[0].Detail)
		require.True(t, srv.Accepted()[0].Time.IsZero())
	})

	t.Run("Of413HasNoBody", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Script(eventbridgetest.TooLarge())
		reply := post(t, srv, signed(), `{}`)
		require.Equal(t, http.StatusRequestEntityTooLarge, reply.status)
		require.Empty(t, reply.body)
	})
}
