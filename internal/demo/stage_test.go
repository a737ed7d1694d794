package main

import (
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsMissingIsSaidWithHowToGetIt(t *testing.T) {
	t.Parallel()
	require.NoError(t, missing(nil))
	require.ErrorContains(t, missing(fmt.Errorf("go build: %w", exec.ErrNotFound)), "install Go")
	require.ErrorContains(t, missing(io.ErrUnexpectedEOF), "needs the network")
}
