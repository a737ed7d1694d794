package faults

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// fault is a way in which things go wrong, and what is promised of it.
type fault struct {
	name string // what goes wrong
	how  string // what the test does to make it so

	// play makes it go wrong, and goes on until everything is delivered.
	play func(t *testing.T, f *trial)

	// reports is what the errors of runs say; empty: no run fails.
	reports string
	// twice is how many events are accepted twice: more than none only where their
	// acceptance is not, or cannot be, recorded. upTo is in its place where chance has
	// a say.
	twice, upTo int
	// kills says that runs end without an answer.
	kills bool
}

// group is a table of the document.
type group struct {
	name   string
	faults []fault
}

// groups are the document's tables, in its order.
var groups = []group{
	{"The database and the way to it", databaseFaults},
	{"The secret and the way to it", secretFaults},
	{"The bus and the way to it", busFaults},
	{"The sandbox", sandboxFaults},
}

// update makes the test write the document.
var update = flag.Bool("update", false, "write docs/faults.md")

// TestMain lets more faults go on at once than there are cores: most of the time
// they wait for a time limit.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}

func TestNothingIsLostWhateverGoesWrong(t *testing.T) {
	t.Parallel()

	results := newResults()
	t.Cleanup(func() {
		if *update && !t.Failed() {
			writeDocument(t, results)
		}
	})
	for _, group := range groups {
		for _, fault := range group.faults {
			t.Run(fault.name, func(t *testing.T) {
				t.Parallel()
				results.add(fault.name, fault.try(t))
			})
		}
	}
}

// try plays the fault, and sees that what is promised of it holds.
func (f fault) try(t *testing.T) result {
	t.Helper()
	trial := newTrial(t)
	f.play(t, trial)
	trial.RequireDelivered(t)
	require.Zero(t, trial.DB.QueryInt(t, "SELECT count(*) FROM outbox_failed"), "an event was given up")
	trial.requireReports(t, f)
	return trial.result(t, f)
}
