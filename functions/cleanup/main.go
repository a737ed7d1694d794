// Command cleanup is the Lambda function that deletes what has been kept for
// long enough.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	log.SetFlags(0) // aws-lambda-go writes a returned error through it, as JSON
	lambda.Start((&function{environ: os.Environ(), out: os.Stdout}).handle)
}

// handle cleans up once, whatever the event is. What it takes is built by the
// first invocation and kept in the sandbox.
func (f *function) handle(ctx context.Context, _ json.RawMessage) (answer, error) {
	if err := f.build(ctx); err != nil {
		return answer{}, &CleanupError{cause: err}
	}
	report, err := f.cleaner.Run(ctx)
	f.emit(ctx, time.Now(), report)
	f.log.InfoContext(ctx, "run ended", summary(report)...)
	if err != nil {
		return answer{}, &CleanupError{report: report, cause: err}
	}
	return newAnswer(report), nil
}
