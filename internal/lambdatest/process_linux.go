package lambdatest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// children returns the living processes of that name and parent.
func children(parent int, name string) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}

	name = name[:min(len(name), 15)] // TASK_COMM_LEN

	var pids []int

	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil { // gone meanwhile
			continue
		}

		// pid (name) state parent: the name may contain anything.
		start, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		fields := strings.Fields(string(stat[end+1:]))

		if string(stat[start+1:end]) == name && fields[0] != "Z" && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(string(bytes.TrimSpace(stat[:start])))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}

			pids = append(pids, pid)
		}
	}

	return pids, nil
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
