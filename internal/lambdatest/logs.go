package lambdatest

import (
	"fmt"
	"slices"
	"strings"
)

// Logs are the lines that the function has printed so far, on standard output
// and standard error.
func (f *Function) Logs() []string {
	f.output.sync()
	return f.clone(&f.logs)
}

// Reports are Lambda's own lines in the function's log: START, END and REPORT.
func (f *Function) Reports() []string {
	f.output.sync()
	return f.clone(&f.reports)
}

// EmulatorLogs are the emulator's messages about its own work.
func (f *Function) EmulatorLogs() []string {
	f.messages.sync()
	return f.clone(&f.emulated)
}

func (f *Function) clone(lines *[]string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(*lines)
}

func (f *Function) takeOutput(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, word := range []string{"START", "END", "REPORT"} {
		if strings.HasPrefix(line, word+" RequestId: ") {
			f.reports = append(f.reports, line)
			return
		}
	}

	f.logs = append(f.logs, line)
	if f.config.Output != nil {
		fmt.Fprintln(f.config.Output, line)
	}
}

func (f *Function) takeMessage(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.emulated = append(f.emulated, line)
}
