package relaytest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/lambdatest"
)

// Invocation is one that goes on while the test does something else.
type Invocation struct {
	Ended    chan struct{} // closed when there is a response
	response lambdatest.Response
	err      error
}

// Begin runs the function, and does not wait for it.
func (r Relay) Begin(t *testing.T) *Invocation {
	t.Helper()
	i := &Invocation{Ended: make(chan struct{})}
	go func() {
		defer close(i.Ended)
		i.response, i.err = r.Invoke(t.Context(), nil)
	}()
	return i
}

// Wait returns the response once it is there.
func (i *Invocation) Wait(t *testing.T) lambdatest.Response {
	t.Helper()
	<-i.Ended
	require.NoError(t, i.err)
	return i.response
}

// Successful reads the answer of an invocation that has not failed.
func Successful(t *testing.T, response lambdatest.Response) Answer {
	t.Helper()
	require.Empty(t, response.ErrorMessage)
	var a Answer
	require.NoError(t, json.Unmarshal(response.Payload, &a))
	return a
}

// Answer is what an invocation returns.
type Answer struct {
	Published  int    `json:"published"`
	Failed     int    `json:"failed"`
	Deferred   int    `json:"deferred"`
	Batches    int    `json:"batches"`
	Stopped    string `json:"stopped"`
	DurationMS int64  `json:"duration_ms"`
}
