//go:build !linux

package lambdatest

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// children returns the living processes of that name and parent.
func children(parent int, name string) ([]int, error) {
	list, err := exec.Command("pgrep", "-x", "-P", strconv.Itoa(parent), name).Output() //nolint:noctx // ends at once
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {  // none
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("pgrep: %w", err)
	}

	var pids []int
	for field := range strings.FieldsSeq(string(list)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("pgrep: %w", err)
		}

		pids = append(pids, pid)
	}
	return pids, nil
}

// stopped tells whether a process has stopped.
func stopped(pid int) (bool, error) {
	state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output() //nolint:noctx // ends at once
	if err != nil {
		return false, fmt.Errorf("ps: %w", err)
	}
	return strings.HasPrefix(string(state), "T"), nil
}

func peakRSS(int) (int64, error) { return 0, errors.ErrUnsupported }
