// Command admin is the Lambda function by which an operator looks after an outbox.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	log.SetFlags(0) // aws-lambda-go writes a returned error through it, as JSON
	lambda.Start((&function{environ: os.Environ()}).handle)
}

// handle does what the event asks for, and answers as its action does.
func (f *function) handle(ctx context.Context, event json.RawMessage) (any, error) {
	request, err := parse(event)
	if err != nil {
		return nil, &AdminError{err}
	}
	if err := f.build(ctx); err != nil {
		return nil, &AdminError{err}
	}
	answer, err := f.act(ctx, request)
	if err != nil {
		return nil, &AdminError{err}
	}
	return answer, nil
}
