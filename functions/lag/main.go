// Command lag is the Lambda function that measures how far the relay is behind.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"outboxrelay/internal/wire"
)

func main() {
	log.SetFlags(0) // aws-lambda-go writes a returned error through it, as JSON
	lambda.Start((&function{environ: os.Environ(), out: os.Stdout}).handle)
}

// handle measures once, whatever the event is. Metrics are written only for what
// was measured: that they are missing is what an alarm is for.
func (f *function) handle(ctx context.Context, _ json.RawMessage) (wire.LagAnswer, error) {
	if err := f.build(ctx); err != nil {
		return wire.LagAnswer{}, &LagError{err}
	}
	lag, err := f.probe.Measure(ctx)
	if err != nil {
		return wire.LagAnswer{}, &LagError{err}
	}
	answer := wire.NewLagAnswer(lag)
	if err := f.emitter.Emit(time.Now(), metrics(answer)...); err != nil {
		return wire.LagAnswer{}, &LagError{err}
	}
	f.log.InfoContext(ctx, "lag measured", answer.Fields()...)
	return answer, nil
}
