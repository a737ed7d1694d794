package outboxcdk

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
)

// NewProps returns the defaults. Where the database and the bus are has none.
func NewProps() Props {
	const memory = 256
	return Props{
		Name:         "outbox",
		Table:        "public.outbox",
		Architecture: "arm64",
		Relay:        Relay{Function: Function{MemoryMB: memory, Every: time.Minute}, Parallel: 1},
		Cleanup:      Function{MemoryMB: memory, Timeout: time.Minute, Every: 5 * time.Minute},
		Lag:          Function{MemoryMB: memory, Timeout: 30 * time.Second, Every: time.Minute},
		// A minute less than what CloudFormation's custom resource has to wait for it.
		Migrate:          Migrate{Function: Function{MemoryMB: memory, Timeout: triggerTimeout - time.Minute, Every: 24 * time.Hour}, AtDeploy: true},
		Admin:            Function{MemoryMB: memory, Timeout: time.Minute},
		Environment:      map[string]string{},
		Scheduled:        true,
		LogRetentionDays: 30,
	}
}

const (
	// maxTimeout is Lambda's.
	maxTimeout = 15 * time.Minute
	// startUp is what a run takes before it works: a cold start, a connection.
	startUp = 10 * time.Second
)

// complete checks the props and sets what follows from them.
func (p Props) complete(scope constructs.Construct) (Props, error) {
	err := errors.Join(p.Validate(), p.checkRegion(*awscdk.Stack_Of(scope).Region()), p.Network.checkSubnets())
	if err != nil {
		return p, err
	}
	p.settings, _ = p.read() // Validate has read them
	if p.Relay.Timeout == 0 {
		p.Relay.Timeout = p.relayTimeout()
	}
	if p.Alarms.Lag == 0 {
		p.Alarms.Lag = p.alarmLag()
	}
	if p.BinaryDir == "" {
		dir, err := Build(context.Background(), p.Architecture)
		if err != nil {
			return p, err
		}
		p.BinaryDir = dir
	}
	return p, nil
}

func (p Props) partitioned() bool { return p.settings.migrate.PartitionInterval != "" }
