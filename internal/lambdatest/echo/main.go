// Command echo is the function that lambdatest's own tests run.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

// Event says what to do; an empty one is echoed.
type Event struct {
	Say   string `json:"say,omitempty"`   // print it
	Fail  string `json:"fail,omitempty"`  // return an EchoError
	Call  string `json:"call,omitempty"`  // GET this address first
	Exit  bool   `json:"exit,omitempty"`  // end the process
	Panic bool   `json:"panic,omitempty"` // panic
	Sleep bool   `json:"sleep,omitempty"` // stay past the deadline
	Env   bool   `json:"env,omitempty"`   // answer with the environment
}

// EchoError is the named error type that a caller sees.
type EchoError struct{ message string }

func (e *EchoError) Error() string { return e.message }

func main() {
	if os.Getenv("EXIT_AT_START") != "" {
		os.Exit(8)
	}

	lambda.Start(handle)
}

func handle(ctx context.Context, raw json.RawMessage) (any, error) {
	var event Event
	if err := json.Unmarshal(raw, &event); err != nil {
		return nil, err
	}
	if event.Say != "" {
		fmt.Println(event.Say)
		fmt.Fprintln(os.Stderr, event.Say)
	}
	if event.Call != "" {
		if err := call(ctx, event.Call); err != nil {
			return nil, err
		}
	}
	switch {
	case event.Exit:
		os.Exit(7)
	case event.Panic:
		panic("as asked")
	case event.Sleep:
		time.Sleep(time.Hour)
	case event.Fail != "":
		return nil, &EchoError{event.Fail}
	case event.Env:
		return environment(), nil
	}
	return raw, nil
}

func environment() map[string]string {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		key, value, _ := strings.Cut(entry, "=")
		env[key] = value
	}
	return env
}

func call(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}

	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}
