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

func TestRequestRules(t *testing.T) {
	t.Parallel()

	t.Run("AcceptsTenEntries", func(t *testing.T) {
		t.Parallel()

		require.Equal(t, make([]string, 10), mustPut(t, eventbridgetest.New(t), events(10)...))
	})

	t.Run("RefusesElevenEntries", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		_, err := put(t, srv, events(11)...)
		requireInvalid(t, err, "Member must have length less than or equal to 10")
		require.Empty(t, srv.Accepted())
		require.Equal(t, 11, srv.Stats().MaxEntries)
	})

	t.Run("RefusesNoEntries", func(t *testing.T) {
		t.Parallel()
		_, err := put(t, eventbridgetest.New(t), []types.PutEventsRequestEntry{}...)
		requireInvalid(t, err, "failed to satisfy constraint")
	})
	for name, c := range map[string]struct {
		entry   types.PutEventsRequestEntry
		message string
	}{
		"AnEmptyBusName":       {onBus(""), "greater than or equal to 1"},
		"ABusNameOfOddLetters": {onBus("my bus"), "regular expression pattern"},
		"AHalfARN":             {onBus("arn:aws:events:us-east-1:12:event-bus/x"), "regular expression pattern"},
		"ATooLongBusName":      {onBus(strings.Repeat("b", 1601)), "less than or equal to 1600"},
		"ATooLongResource": {entry(func(e *types.PutEventsRequestEntry) {
			e.Resources = []string{"ok", strings.Repeat("r", 2049)}
		}), "less than or equal to 2048"},
		"AnEmptyTraceHeader": {
			entry(func(e *types.PutEventsRequestEntry) { e.TraceHeader = aws.String("") }), "greater than or equal to 1",
		},
		"ATooLongTraceHeader": {entry(func(e *types.PutEventsRequestEntry) {
			e.TraceHeader = aws.String(strings.Repeat("t", 501))
		}), "less than or equal to 500"},
	} {
		t.Run("Refuses"+name+"AndItsNeighbours", func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			_, err := put(t, srv, entry(), c.entry)
			requireInvalid(t, err, c.message)
			require.Contains(t, err.Error(), "entries.2.member.")
			require.Empty(t, srv.Accepted())
		})
	}

	t.Run("AcceptsTheLongestValues", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		longest := entry(func(e *types.PutEventsRequestEntry) {
			e.EventBusName = aws.String(srv.AddBus(strings.Repeat("b", 1600)[:1500]))
			e.Resources = []string{strings.Repeat("r", 2048)}
			e.TraceHeader = aws.String(strings.Repeat("t", 500))
		})
		require.Equal(t, []string{""}, mustPut(t, srv, longest))
		require.Len(t, srv.Accepted(), 1)
	})

	t.Run("RefusesAnUnsignedRequest", func(t *testing.T) {
		t.Parallel()
		reply := post(t, eventbridgetest.New(t), map[string]string{"X-Amz-Target": "AWSEvents.PutEvents"}, "{}")
		require.Equal(t, http.StatusBadRequest, reply.status)
		require.JSONEq(t, `{"__type":"MissingAuthenticationTokenException","message":"Missing Authentication Token"}`, reply.body)
	})

	t.Run("RefusesAnUnknownSignature", func(t *testing.T) {
		t.Parallel()
		reply := post(t, eventbridgetest.New(t),
			map[string]string{"X-Amz-Target": "AWSEvents.PutEvents", "Authorization": "Bearer x"}, "{}")
		require.Contains(t, reply.body, "IncompleteSignatureException")
	})

	t.Run("RefusesASignatureWithoutDate", func(t *testing.T) {
		t.Parallel()
		reply := post(t, eventbridgetest.New(t),
			map[string]string{"X-Amz-Target": "AWSEvents.PutEvents", "Authorization": "AWS4-HMAC-SHA256 x"}, "{}")
		require.Contains(t, reply.body, "IncompleteSignatureException")
	})

	t.Run("RefusesMissingEntriesAndWhatIsNoJSON", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		require.Contains(t, post(t, srv, signed(), `{}`).body, "Member must not be null")
		require.Contains(t, post(t, srv, signed(), `{"EndpointId":null,"Entries":null}`).body, "Member must not be null")
		require.Contains(t, post(t, srv, signed(), `{"Entries":[null]}`).body, "SerializationException")
		require.Contains(t, post(t, srv, signed(), `{"Entries":`).body, "SerializationException")
		require.Contains(t, post(t, srv, signed(), `{"Entries":[{"Time":"noon"}]}`).body, "SerializationException")
	})

	t.Run("RefusesOtherOperations", func(t *testing.T) {
		t.Parallel()
		reply := post(t, eventbridgetest.New(t), map[string]string{"X-Amz-Target": "AWSEvents.PutRule"}, "{}")
		require.Contains(t, reply.body, "UnknownOperationException")
	})
}

func TestClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ahead   time.Duration
		message string
	}{
		"InThePast":   {6 * time.Minute, "Signature expired"},
		"InTheFuture": {-6 * time.Minute, "Signature not yet current"},
	} {
		t.Run("RefusesSignatures"+name, func(t *testing.T) {
			t.Parallel()
			clock := func() time.Time { return time.Now().Add(c.ahead) }
			_, err := put(t, eventbridgetest.New(t, eventbridgetest.WithClock(clock)), entry())
			requireRefused(t, err, http.StatusForbidden, "InvalidSignatureException", c.message)
		})
	}

	t.Run("AllowsFourMinutes", func(t *testing.T) {
		t.Parallel()
		clock := func() time.Time { return time.Now().Add(4 * time.Minute) }
		mustPut(t, eventbridgetest.New(t, eventbridgetest.WithClock(clock)), entry())
	})
}
