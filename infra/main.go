// Command infra is a CDK app of one stack, which has a relay and nothing else. It
// reads its settings from the CDK's context and from a file.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"outboxrelay/infra/outboxcdk"
	"outboxrelay/infra/settings"
)

func main() {
	err := run(context.Background(), awscdk.NewApp(nil))
	jsii.Close()
	if err != nil {
		tell(err)
		os.Exit(1)
	}
}

// tell writes to standard error, or to a file that cdk.sh shows when all others have
// said that the app failed.
func tell(err error) {
	content := []byte(err.Error() + "\n")
	path := os.Getenv("OUTBOXRELAY_PROBLEMS")                    //nolint:forbidigo // no setting of a function: cdk.sh says where
	if path != "" && os.WriteFile(path, content, 0o600) == nil { //nolint:gosec // as above
		return
	}
	_, _ = os.Stderr.Write(content)
}

// run synthesizes the stack that the context of the app asks for.
func run(ctx context.Context, app awscdk.App) error {
	given, _ := app.Node().GetAllContext(nil).(map[string]any)
	read, err := settings.Read(given)
	if err != nil {
		return fmt.Errorf("the settings are not what they have to be (docs/deployment.md has them all; they are in infra/settings.json, "+
			"or in the file of SETTINGS, or on the command line, as ARGS='-c eventBus=orders'):\n%w", err)
	}
	if read.Props.BinaryDir == "" {
		if read.Props.BinaryDir, err = outboxcdk.Build(ctx, read.Props.Architecture); err != nil {
			return err
		}
	}
	addStack(app, read) //nolint:contextcheck // a construct has no context
	app.Synth(nil)
	return nil
}
