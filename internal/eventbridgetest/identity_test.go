package eventbridgetest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

func TestIdentity(t *testing.T) {
	t.Parallel()

	urn := func(e *types.PutEventsRequestEntry) { e.Resources = []string{"arn:x", "urn:uuid:from-resource"} }
	for name, c := range map[string]struct {
		entry types.PutEventsRequestEntry
		id    string
	}{
		"IsTheMetadataID":           {detail(`{"metadata":{"sequence":7,"id":"m"},"data":{"id":"d"}}`), "m"},
		"IsTheCloudEventsID":        {detail(`{"specversion":"1.0","id":"c","data":{"id":"d"}}`), "c"},
		"PrefersMetadata":           {detail(`{"id":"c","metadata":{"id":"m"}}`), "m"},
		"IsTheResourceBeforeDetail": {entry(urn, func(e *types.PutEventsRequestEntry) { e.Detail = detail(`{"id":"c"}`).Detail }), "from-resource"},
		"IsUnescaped":               {detail(`{"id":"a\u002Db"}`), "a-b"},
		"IsNoNumber":                {detail(`{"id":5}`), ""},
		"IsNotFoundDeeper":          {detail(`{"data":{"id":"d","metadata":{"id":"m"}},"metadata":{"x":{"id":"y"}}}`), ""},
		"MayBeMissing":              {entry(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			mustPut(t, srv, c.entry)
			require.Equal(t, c.id, srv.Accepted()[0].ID)
		})
	}
}
