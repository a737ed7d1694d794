package main

import (
	"context"
	"encoding/json"
	"fmt"

	"outboxrelay/internal/lambdatest"
)

// invoke invokes a function with an event as JSON.
type invoke func(ctx context.Context, event any) (lambdatest.Response, error)

// ask invokes a function and reads its answer. What the function returns as an
// error is one.
func ask[T any](ctx context.Context, function invoke, event any) (T, error) {
	return read[T](function(ctx, event))
}

func read[T any](response lambdatest.Response, err error) (T, error) {
	var answer T
	switch {
	case err != nil:
		return answer, err
	case response.ErrorType != "":
		return answer, fmt.Errorf("%s: %s", response.ErrorType, response.ErrorMessage)
	}
	if err := json.Unmarshal(response.Payload, &answer); err != nil {
		return answer, fmt.Errorf("read the answer %s: %w", response.Payload, err)
	}
	return answer, nil
}
