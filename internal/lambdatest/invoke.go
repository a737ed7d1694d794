package lambdatest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Response is what an invocation came to.
type Response struct {
	Payload json.RawMessage // the function's answer; nil beside an error

	// ErrorType and ErrorMessage are of the function's error or panic, of a
	// timeout (Sandbox.Timedout) or of a crash (Runtime.ExitError). The
	// emulator does not mark an error: a payload with just these two is one.
	ErrorType, ErrorMessage string

	TimedOut bool // the bootstrap was killed at the time limit
	Crashed  bool // the bootstrap ended: killed, by a panic, by itself
}

// Invoke invokes the function with a payload as JSON and waits for its answer;
// an error means that there was none. When the context ends first, the
// invocation goes on, and the next one waits for it.
func (f *Function) Invoke(ctx context.Context, payload any) (Response, error) {
	body, err := json.Marshal(payload)
	if err != nil {
		return Response{}, fmt.Errorf("invoke: %w", err)
	}
	select {
	case f.slot <- struct{}{}:
	case <-ctx.Done():
		return Response{}, fmt.Errorf("invoke: wait for the invocation before: %w", ctx.Err())
	}

	type result struct {
		response Response
		err      error
	}

	done := make(chan result, 1)
	go func() {
		defer func() { <-f.slot }()
		response, err := f.post(context.WithoutCancel(ctx), body)
		done <- result{response, err}
	}()
	select {
	case result := <-done:
		return result.response, result.err
	case <-ctx.Done():
		return Response{}, fmt.Errorf("invoke: %w", ctx.Err())
	}
}

func (f *Function) post(ctx context.Context, body []byte) (Response, error) {
	// The emulator is the one that ends an invocation, at the function's limit.
	ctx, cancel := context.WithTimeout(ctx, f.config.Timeout+time.Minute)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(body))
	if err != nil {
		return Response{}, fmt.Errorf("invoke: %w", err)
	}

	answer, err := f.client.Do(request)
	if err != nil {
		return Response{}, fmt.Errorf("invoke: %w", err)
	}

	payload, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return Response{}, fmt.Errorf("invoke: %w", err)
	}
	return response(answer.StatusCode, payload)
}

// response tells answers apart as well as the emulator allows: it passes
// neither the header nor the status by which Lambda marks a function's error.
func response(status int, payload []byte) (Response, error) {
	if text := string(payload); strings.HasPrefix(text, "Task timed out after ") { // no JSON
		return Response{ErrorType: "Sandbox.Timedout", ErrorMessage: text, TimedOut: true}, nil
	}
	if status != http.StatusOK && status != http.StatusBadGateway {
		return Response{}, fmt.Errorf("invoke: the emulator answered with status %d", status)
	}
	if len(payload) == 0 { // an answer has at least "null"
		return Response{ErrorType: "Runtime.ExitError", ErrorMessage: "the bootstrap ended at its start", Crashed: true}, nil
	}
	if message, ok := failure(payload); ok {
		return Response{
			ErrorType:    *message.ErrorType,
			ErrorMessage: *message.ErrorMessage,
			Crashed:      status == http.StatusBadGateway,
		}, nil
	}
	return Response{Payload: payload}, nil
}

// message is the JSON form of an error, as the runtime and the emulator write it.
type message struct {
	ErrorType    *string `json:"errorType"`
	ErrorMessage *string `json:"errorMessage"`
	StackTrace   any     `json:"stackTrace"`
}

func failure(payload []byte) (message, bool) {
	var m message

	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&m)
	return m, err == nil && m.ErrorType != nil && m.ErrorMessage != nil
}
