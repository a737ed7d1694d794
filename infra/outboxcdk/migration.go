package outboxcdk

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/triggers"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// triggerTimeout is how long CloudFormation's custom resource waits for migrate.
const triggerTimeout = 15 * time.Minute

// addMigration runs migrate whenever its code or settings have changed, before
// any of the other functions changes: a new binary never meets an old schema. If
// it fails, so does the deployment, and all is rolled back to what was.
func (r *OutboxRelay) addMigration() {
	if !r.props.Migrate.AtDeploy {
		return
	}
	trigger := triggers.NewTrigger(r, jsii.String("Migration"), &triggers.TriggerProps{
		Handler: r.Migrate,
		Timeout: duration(triggerTimeout),
	})
	if r.network.scope != nil {
		trigger.ExecuteAfter(r.network.scope) // without its rules the database cannot be reached
	}
	later := []constructs.Construct{r.Relay, r.Cleanup, r.Lag, r.Admin}
	for _, schedule := range r.schedules {
		later = append(later, schedule)
	}
	trigger.ExecuteBefore(later...)
}
