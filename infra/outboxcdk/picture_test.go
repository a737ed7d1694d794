package outboxcdk_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/infra/picture"
)

var update = flag.Bool("update", false, "write docs/dashboard.svg")

const pictured = "../../docs/dashboard.svg"

// make picture runs this with -update.
func TestThePictureInTheDocsIsTheDashboard(t *testing.T) {
	definition := plain(minimal(t).resources("AWS::CloudWatch::Dashboard")[0].properties["DashboardBody"])
	drawn, err := picture.Draw(definition)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(pictured, []byte(drawn), 0o644))
	}
	kept, err := os.ReadFile(pictured)
	require.NoError(t, err)
	require.Equal(t, drawn, string(kept), "the dashboard has changed: make picture")
	for _, widget := range dashboard(t, minimal(t)).Widgets {
		require.Contains(t, drawn, widget.Properties["title"].(string))
	}
}

func TestAMetricWithoutSampleDataCannotBeDrawn(t *testing.T) {
	definition := plain(minimal(t).resources("AWS::CloudWatch::Dashboard")[0].properties["DashboardBody"])

	_, err := picture.Draw(strings.ReplaceAll(definition, "DeadRows", "NewMetric"))

	require.ErrorContains(t, err, "NewMetric of outbox has no sample data")
}
