package lambdatest

import (
	"encoding/json"
	"regexp"
	"testing"
)

// ownPrefix is what the runtime of aws-lambda-go puts before the JSON of an error
// that was returned.
var ownPrefix = regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `)

// Lines are [Function.Logs], each of which has to be JSON.
func (f *Function) Lines(t testing.TB) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for _, text := range f.Logs() {
		var line map[string]any
		if err := json.Unmarshal([]byte(ownPrefix.ReplaceAllString(text, "")), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		lines = append(lines, line)
	}
	return lines
}

// Metrics are the lines that CloudWatch makes metrics of.
func (f *Function) Metrics(t testing.TB) []map[string]any {
	t.Helper()
	var metrics []map[string]any
	for _, line := range f.Lines(t) {
		if line["_aws"] != nil {
			metrics = append(metrics, line)
		}
	}
	return metrics
}
