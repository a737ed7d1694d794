package lambdatest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// children returns the living processes of that name and parent.
func children(parent int, name string) ([]int, error) {
	stats, err := readStats("/proc/[0-9]*/stat")
	name = name[:min(len(name), 15)] // TASK_COMM_LEN

	var pids []int
	for _, s := range stats {
		if s.parent == parent && s.name == name && s.state != "Z" {
			pids = append(pids, s.pid)
		}
	}
	return pids, err
}

// stopped tells whether every thread of a process has stopped.
func stopped(pid int) (bool, error) {
	stats, err := readStats(fmt.Sprintf("/proc/%d/task/*/stat", pid))

	running := slices.ContainsFunc(stats, func(s stat) bool { return s.state != "T" })
	return !running, err
}

// stat is one line of a stat file: pid (name) state parent and more.
type stat struct {
	pid, parent int
	name, state string
}

// readStats leaves out what ends meanwhile.
func readStats(pattern string) ([]stat, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}

	stats := make([]stat, 0, len(paths))
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil {
			continue
		}

		// The name may contain anything.
		start, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
		s := stat{name: string(line[start+1 : end])}
		_, err = fmt.Sscanf(string(line[:start])+string(line[end+1:]), "%d %s %d", &s.pid, &s.state, &s.parent)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}

		stats = append(stats, s)
	}
	return stats, nil
}

func peakRSS(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("no VmHWM: the process has ended")
}
