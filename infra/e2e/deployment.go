package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	stackName = "OutboxE2E"
	busName   = "orders"
)

// deployment is the stack, as one who deploys it sees it: a file of settings and
// the targets of the Makefile.
type deployment struct {
	source   string
	dir      string // of the settings and the CDK's output
	aws      *ministack
	settings map[string]any
}

func newDeployment(source, cache string, emulator *ministack) (*deployment, error) {
	dir, err := os.MkdirTemp(cache, "deployment-")
	if err != nil {
		return nil, err
	}
	return &deployment{source: source, dir: dir, aws: emulator, settings: map[string]any{}}, nil
}

// configure sets what a user would. The emulator runs functions as processes of
// this machine, so they are built for it.
func (d *deployment) configure(secrets map[string]string) {
	architecture := map[string]string{"amd64": "x86_64"}[runtime.GOARCH]
	if architecture == "" {
		architecture = runtime.GOARCH
	}
	d.settings = map[string]any{
		"stackName": stackName, "architecture": architecture, "newEventBus": busName, "EVENT_SOURCE": eventSource,
		"databaseSecretArn": secrets["relay"],
		"databaseSslMode":   "disable", // the emulator and PostgreSQL are both on loopback
	}
	for function, arn := range secrets {
		d.settings[function+"SecretArn"] = arn
	}
}

// bootstrap prepares the account, once, as every account needs that is deployed
// into by the CDK.
func (d *deployment) bootstrap(ctx context.Context) error {
	if err := d.cdk(ctx, d.dir, "bootstrap", "aws://"+account+"/"+region); err != nil {
		return err
	}
	return d.allowPlainHTTP(ctx)
}

// allowPlainHTTP takes the policy from the bucket of the CDK's assets that refuses
// whoever comes without TLS: the emulator is reached without.
func (d *deployment) allowPlainHTTP(ctx context.Context) error {
	bucket := "cdk-hnb659fds-assets-" + account + "-" + region
	_, err := s3.NewFromConfig(d.aws.config()).DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: aws.String(bucket)})
	if err != nil {
		return fmt.Errorf("let the assets be reached without TLS: %w", err)
	}
	return nil
}

// synthesize makes the template by the settings as they are, and returns which of
// its alarms are left out of it for the emulator's sake.
func (d *deployment) synthesize(ctx context.Context) (alarms []string, err error) {
	settings, err := json.Marshal(d.settings)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(d.dir, "settings.json")
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		return nil, err
	}
	err = d.cdk(ctx, filepath.Join(d.source, "infra"), "synth", "--quiet", "--context", "settings="+file, "--output", d.output())
	if err != nil {
		return nil, err
	}
	return leaveOut(filepath.Join(d.output(), stackName+".template.json"))
}

// deploy deploys what was synthesized, and returns what the command line has
// printed, also if it failed.
func (d *deployment) deploy(ctx context.Context) (output string, err error) {
	return d.make(ctx, "deploy", "ARGS=--require-approval never --progress events --app "+d.output())
}

func (d *deployment) destroy(ctx context.Context) error {
	_, err := d.make(ctx, "destroy", "ARGS=--force --app "+d.output())
	return err
}

// rollBack has a rollback that failed go on without a resource.
func (d *deployment) rollBack(ctx context.Context, without string) error {
	return d.cdk(ctx, d.dir, "rollback", stackName, "--orphan", without, "--app", d.output())
}

func (d *deployment) output() string { return filepath.Join(d.dir, "cdk.out") }

func (d *deployment) make(ctx context.Context, arguments ...string) (string, error) {
	command := newCommand(ctx, "make", append([]string{"--no-print-directory", "-C", d.source}, arguments...)...)
	command.Env = d.environment()
	return runToEnd(command)
}

// cdk runs the command line, for what there is no target for, in a directory with
// an app or without.
func (d *deployment) cdk(ctx context.Context, dir string, arguments ...string) error {
	command := newCommand(ctx, filepath.Join(d.source, "infra", "node_modules", ".bin", "cdk"), arguments...)
	command.Dir, command.Env = dir, d.environment()
	if _, err := runToEnd(command); err != nil {
		return fmt.Errorf("cdk %s: %w", arguments[0], err)
	}
	return nil
}

// environment is this process's with the emulator instead of AWS. Nobody's
// profile, session or Region may come into it.
func (d *deployment) environment() []string {
	var environment []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "AWS_") && !strings.HasPrefix(entry, "MAKE") && !strings.HasPrefix(entry, "CDK_") {
			environment = append(environment, entry)
		}
	}
	return append(environment,
		"AWS_ENDPOINT_URL="+d.aws.url(), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_REGION="+region, "AWS_DEFAULT_REGION="+region, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "NO_COLOR=1", "CI=true",
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20") // it would fill what an error shows
}

func (d *deployment) describe(ctx context.Context) (types.Stack, error) {
	described, err := cloudformation.NewFromConfig(d.aws.config()).DescribeStacks(ctx,
		&cloudformation.DescribeStacksInput{StackName: aws.String(stackName)})
	if err != nil {
		return types.Stack{}, fmt.Errorf("describe the stack: %w", err)
	}
	return described.Stacks[0], nil
}

func (d *deployment) expectStatus(ctx context.Context, wanted types.StackStatus) error {
	stack, err := d.describe(ctx)
	if err != nil {
		return err
	}
	if stack.StackStatus != wanted {
		return fmt.Errorf("the stack is %s: expected %s", stack.StackStatus, wanted)
	}
	return nil
}

// outputs are those of the stack, which tell how its resources are called.
func (d *deployment) outputs(ctx context.Context) (map[string]string, error) {
	stack, err := d.describe(ctx)
	if err != nil {
		return nil, err
	}
	outputs := map[string]string{}
	for _, output := range stack.Outputs {
		outputs[*output.OutputKey] = *output.OutputValue
	}
	return outputs, nil
}

func (d *deployment) close() error { return os.RemoveAll(d.dir) }

// said reports whether an output has a text, however the command line has broken
// its lines.
func said(output, text string) bool {
	squeeze := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, text)
	}
	return strings.Contains(squeeze(output), squeeze(text))
}
