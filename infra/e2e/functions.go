package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// adminStatus is what of admin's answer must be nothing.
type adminStatus struct {
	Unpublished int    `json:"unpublished"`
	Failed      int    `json:"failed"`
	Paused      int    `json:"paused"`
	LagError    string `json:"lag_error"`
}

// status invokes the deployed function admin, as an operator does.
func (s *stage) status(ctx context.Context) (status adminStatus, err error) {
	outputs, err := s.deployed.outputs(ctx)
	if err != nil {
		return status, err
	}
	answered, err := lambda.NewFromConfig(s.aws.config()).Invoke(ctx, &lambda.InvokeInput{
		FunctionName: aws.String(outputs["AdminFunction"]), Payload: []byte(`{"action": "status"}`),
	})
	if err != nil {
		return status, fmt.Errorf("invoke admin: %w", err)
	}
	if answered.FunctionError != nil {
		return status, fmt.Errorf("admin answered: %s", answered.Payload)
	}
	if err := json.Unmarshal(answered.Payload, &status); err != nil {
		return status, fmt.Errorf("read admin's answer %s: %w", answered.Payload, err)
	}
	return status, nil
}

// expectSetting checks that the deployed functions have a setting that changes
// with each deployment.
func (s *stage) expectSetting(ctx context.Context, wanted string) error {
	outputs, err := s.deployed.outputs(ctx)
	if err != nil {
		return err
	}
	client := lambda.NewFromConfig(s.aws.config())
	for _, output := range []string{"RelayFunction", "MigrateFunction"} {
		function, err := client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{
			FunctionName: aws.String(outputs[output]),
		})
		if err != nil {
			return fmt.Errorf("ask for a function's settings: %w", err)
		}
		if got := function.Environment.Variables[batchSize]; got != wanted {
			return fmt.Errorf("%s has %s %q: expected %q", output, batchSize, got, wanted)
		}
	}
	return nil
}
