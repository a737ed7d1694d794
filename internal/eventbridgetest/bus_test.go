package eventbridgetest_test

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

const foreign = "arn:aws:events:eu-central-1:999999999999:event-bus/partner"

func TestBuses(t *testing.T) {
	t.Parallel()

	t.Run("TakeEntriesByNameAndByARN", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t, eventbridgetest.WithBuses("orders"))
		srv.AddBus(foreign)
		mustPut(t, srv, entry(), onBus("default"), onBus("orders"), onBus(srv.AddBus("orders")), onBus(foreign))
		require.Len(t, srv.Accepted(), 5)
		require.Equal(t, "arn:aws:events:us-east-1:123456789012:event-bus/orders", srv.Accepted()[3].Bus)
		require.Empty(t, srv.Dropped())
	})

	t.Run("ThatDoNotExistAnswerSuccessAndDropTheEvent", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t, eventbridgetest.WithBuses("orders"))
		out, err := put(t, srv, entry(), onBus("ordres"), onBus(foreign))
		require.NoError(t, err)
		require.Zero(t, out.FailedEntryCount)
		require.NotEmpty(t, aws.ToString(out.Entries[1].EventId))

		require.Len(t, srv.Accepted(), 1)
		require.Len(t, srv.Dropped(), 2)
		require.Equal(t, "ordres", srv.Dropped()[0].Bus)
		require.Equal(t, aws.ToString(out.Entries[1].EventId), srv.Dropped()[0].EventID)
		require.Equal(t, 2, srv.Requests()[0].Dropped)
		require.Equal(t, 2, srv.Stats().Dropped)
	})

	t.Run("MayBeRemoved", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t, eventbridgetest.WithBuses("orders"))
		srv.RemoveBus("orders")
		mustPut(t, srv, onBus("orders"))
		require.Empty(t, srv.Accepted())
		_, err := describe(t, srv, "orders")
		requireRefused(t, err, http.StatusBadRequest, "ResourceNotFoundException", "Event bus orders does not exist.")
	})

	t.Run("AreDescribedByNameAndByARN", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		arn := srv.AddBus("orders")
		for _, name := range []string{"orders", arn} {
			out, err := describe(t, srv, name)
			require.NoError(t, err)
			require.Equal(t, "orders", aws.ToString(out.Name))
			require.Equal(t, arn, aws.ToString(out.Arn))
		}

		require.Equal(t, []string{"orders", arn}, srv.Describes())
		require.Zero(t, srv.Stats().Requests)
	})
}

func TestDescribeFaults(t *testing.T) {
	t.Parallel()

	t.Run("AreTheirOwn", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.ScriptDescribe(eventbridgetest.AccessDenied(), eventbridgetest.InternalException())
		mustPut(t, srv, entry())
		_, err := describe(t, srv, "default")
		requireRefused(t, err, http.StatusBadRequest, "AccessDeniedException", "not authorized")
		_, err = describe(t, srv, "default")
		requireRefused(t, err, http.StatusInternalServerError, "InternalException", "")
		_, err = describe(t, srv, "default")
		require.NoError(t, err)
		require.Len(t, srv.Describes(), 3)
	})

	t.Run("HoldUntilCleared", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.AlwaysDescribe(eventbridgetest.Drop())
		for range 2 {
			_, err := describe(t, srv, "default")
			requireNoReply(t, err)
		}

		srv.Clear()
		_, err := describe(t, srv, "default")
		require.NoError(t, err)
	})

	t.Run("HangUntilTheServerCloses", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.AlwaysDescribe(eventbridgetest.Hang())
		failed := make(chan error, 1)
		go func() {
			_, err := describe(t, srv, "default")
			failed <- err
		}()

		require.NoError(t, srv.WaitDescribes(t.Context(), 1))
		srv.Close()
		requireNoReply(t, <-failed)
	})
}
