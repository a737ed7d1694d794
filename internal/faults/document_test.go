package faults

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const documentPath = "../../docs/faults.md"

// generated is what `make faults` writes; the rest of the document is by hand.
var generated = regexp.MustCompile(`(?s)(<!-- make faults: begin -->\n).*(<!-- make faults: end -->\n)`)

// result is what came of a fault.
type result struct {
	recovered    time.Duration // from the fault's end until all was delivered
	runs, failed int
	twice        int // events that were accepted twice
}

type results struct {
	mu sync.Mutex
	of map[string]result // by the fault's name
}

func newResults() *results { return &results{of: map[string]result{}} }

func (r *results) add(name string, result result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[name] = result
}

// writeDocument writes the tables, if every fault has been tried.
func writeDocument(t *testing.T, results *results) {
	t.Helper()
	var tables strings.Builder
	for _, group := range groups {
		fmt.Fprintf(&tables, "\n## %s\n\n| fault | what was done | delivered after | runs that failed | sent twice | what they reported |\n|---|---|---|---|---|---|\n", group.name)
		for _, fault := range group.faults {
			result, tried := results.of[fault.name]
			require.True(t, tried, "%s was not tried: the document needs all of them", fault.name)
			tables.WriteString(fault.row(result))
		}
	}
	document, err := os.ReadFile(documentPath)
	require.NoError(t, err)
	require.Regexp(t, generated, string(document))
	text := generated.ReplaceAllString(string(document), "${1}"+strings.ReplaceAll(tables.String(), "$", "$$")+"\n${2}")
	require.NoError(t, os.WriteFile(documentPath, []byte(text), 0o644))
}

// row is the fault's line in the document. Of its cells, the second to the fourth
// from the end are measured.
func (f fault) row(r result) string {
	return fmt.Sprintf("| %s | %s | %.2f s | %d of %d | %d | %s |\n",
		f.name, f.how, r.recovered.Seconds(), r.failed, r.runs, r.twice, f.reported())
}

func (f fault) reported() string {
	switch {
	case f.reports != "":
		return "“" + f.reports + "”"
	case f.kills:
		return "the run itself could not say anything"
	}
	return "nothing"
}

// The measured cells are other ones each time; all the rest has to be what is tried.
func TestTheDocumentListsTheFaultsThatAreTried(t *testing.T) {
	t.Parallel()
	if *update {
		t.Skip("the document is being written")
	}
	document, err := os.ReadFile(documentPath)
	require.NoError(t, err)
	rest := string(document)
	faults := 0
	for _, group := range groups {
		rest = requireAfter(t, rest, "\n## "+group.name+"\n")
		for _, fault := range group.faults {
			rest = requireAfter(t, rest, "| "+fault.name+" | "+fault.how+" | ")
			line, _, _ := strings.Cut(rest, "\n")
			require.True(t, strings.HasSuffix(line, " | "+fault.reported()+" |"), "%s: %s", fault.name, line)
			faults++
		}
	}
	require.Equal(t, faults+len(groups), strings.Count(string(document), "\n| "), "the document has other rows: make faults")
}

// requireAfter returns what follows some text in the document.
func requireAfter(t *testing.T, document, text string) string {
	t.Helper()
	_, rest, found := strings.Cut(document, text)
	require.True(t, found, "%q is missing, or out of order: make faults", text)
	return rest
}
