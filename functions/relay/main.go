// Command relay is the Lambda function that drains the outbox.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	function := &function{environ: os.Environ(), out: os.Stdout}
	lambda.Start(function.handle)
}
