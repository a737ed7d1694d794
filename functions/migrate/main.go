// Command migrate is the Lambda function that brings the tables of the outbox to
// the version that the other functions need, and keeps its partitions.
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
	lambda.Start((&function{environ: os.Environ()}).handle)
}

// handle migrates, whatever the event is.
func (f *function) handle(ctx context.Context, _ json.RawMessage) (answer, error) {
	if err := f.build(ctx); err != nil {
		return answer{}, &MigrateError{cause: err}
	}
	ctx, cancel, err := inTime(ctx, time.Now())
	if err != nil {
		return answer{}, &MigrateError{cause: err}
	}
	defer cancel()
	done, err := f.migrator.Run(ctx)
	f.log.InfoContext(ctx, "run ended", summary(done)...)
	if err != nil {
		return answer{}, &MigrateError{done: done, cause: err}
	}
	return newAnswer(done), nil
}
