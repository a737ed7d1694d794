package outboxcdk_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestANewBusIsMadeOnlyWhereAsked(t *testing.T) {
	require.Equal(t, "orders", everything(t).withPrefix(t, "AWS::Events::EventBus", "").properties["Name"])
	require.Empty(t, minimal(t).resources("AWS::Events::EventBus"))
}

func TestTheArchiveKeepsAllEventsOfTheBus(t *testing.T) {
	archive := everything(t).withPrefix(t, "AWS::Events::Archive", "")
	require.Equal(t, everything(t).withPrefix(t, "AWS::Events::EventBus", "").arn(), archive.properties["SourceArn"])
	require.InDelta(t, 30, archive.properties["RetentionDays"], 0)
	require.NotContains(t, archive.properties, "EventPattern")
	require.NotContains(t, archive.properties, "ArchiveName")
	require.Empty(t, minimal(t).resources("AWS::Events::Archive"))
}

func TestABusOfAnotherAccountIsGivenToTheFunctionsByItsARN(t *testing.T) {
	require.Equal(t, foreignBusArn, variables(slow(t).function(t, "relay"))["EVENT_BUS"])
}
