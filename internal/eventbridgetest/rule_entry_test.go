package eventbridgetest_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

func TestEntryRules(t *testing.T) {
	t.Parallel()

	type e = types.PutEventsRequestEntry
	for name, c := range map[string]struct {
		entry         types.PutEventsRequestEntry
		code, message string
	}{
		"AMissingSource": {
			entry(func(e *e) { e.Source = nil }), "InvalidArgument",
			"Parameter Source is not valid. Reason: Source is a required argument.",
		},
		"AMissingDetailType": {
			entry(func(e *e) { e.DetailType = nil }), "InvalidArgument",
			"Parameter DetailType is not valid. Reason: DetailType is a required argument.",
		},
		"AMissingDetail": {
			entry(func(e *e) { e.Detail = nil }), "InvalidArgument",
			"Parameter Detail is not valid. Reason: Detail is a required argument.",
		},
		"ALongDetailType":     {detailType(strings.Repeat("t", 129)), "InvalidArgument", "Parameter DetailType is not valid"},
		"AReservedSource":     {source("aws.orders"), "NotAuthorizedForSourceException", "Not authorized for the source"},
		"AnArray":             {detail(`[1,2]`), "MalformedDetail", "Detail is malformed."},
		"AString":             {detail(`"text"`), "MalformedDetail", "Detail is malformed."},
		"ASerializedObject":   {detail(`"{\"a\":1}"`), "MalformedDetail", "Detail is malformed."},
		"ANumber":             {detail(`5`), "MalformedDetail", "Detail is malformed."},
		"Null":                {detail(`null`), "MalformedDetail", "Detail is malformed."},
		"AnEmptyDetail":       {detail(``), "MalformedDetail", "Detail is malformed."},
		"BrokenJSON":          {detail(`{"a":`), "MalformedDetail", "Detail is malformed."},
		"AnIntegerOf65Bits":   {detail(`{"n":9223372036854775808}`), "MalformedDetail", "Detail is malformed."},
		"TooDeepANest":        {detail(nested(1001)), "MalformedDetail", "Detail is malformed."},
		"MuchTooDeepANest":    {detail(nested(200_000)), "MalformedDetail", "Detail is malformed."},
		"SomethingBehindJSON": {detail(`{} {}`), "MalformedDetail", "Detail is malformed."},
	} {
		t.Run("Fails"+name+"ButNotItsNeighbours", func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			out, err := put(t, srv, entry(), c.entry, entry())
			require.NoError(t, err)
			require.Equal(t, int32(1), out.FailedEntryCount)
			require.Equal(t, []string{"", c.code, ""}, codes(out))
			require.Contains(t, aws.ToString(out.Entries[1].ErrorMessage), c.message)
			require.Nil(t, out.Entries[1].EventId)
			require.NotEmpty(t, aws.ToString(out.Entries[0].EventId))
			require.NotEqual(t, out.Entries[0].EventId, out.Entries[2].EventId)

			require.Len(t, srv.Accepted(), 2)
			require.Equal(t, 1, srv.Requests()[0].Failed)
		})
	}
	for name, good := range map[string]types.PutEventsRequestEntry{
		"ADetailTypeOf128Letters": detailType(strings.Repeat("t", 128)),
		"128MultiByteLetters":     detailType(strings.Repeat("ü", 128)),
		"ASourceThatBeginsAlike":  source("aws-orders.service"),
		"TheExtremeIntegers":      detail(`{"a":9223372036854775807,"b":-9223372036854775808}`),
		"LongFractions":           detail(`{"a":12345678901234567890.5,"b":1E400,"c":0.1000000000000000055}`),
		"TheDeepestNest":          detail(nested(1000)),
		"AnEmptyObject":           detail(` {} `),
	} {
		t.Run("Accepts"+name, func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			require.Equal(t, []string{""}, mustPut(t, srv, good))
			require.Equal(t, aws.ToString(good.Detail), srv.Accepted()[0].Detail)
		})
	}
}

// nested is an object of levels levels, itself included.
func nested(levels int) string {
	return `{"a":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
}
