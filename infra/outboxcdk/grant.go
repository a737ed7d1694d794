package outboxcdk

import "github.com/aws/aws-cdk-go/awscdk/v2/awsiam"

// GrantInvoke lets an application invoke the relay, as one that nudges it after a
// commit: asynchronously, without waiting for the schedule. It is for a relay that
// does not poll (RELAY_POLL_INTERVAL 0s): one that polls is at work anyway, and each
// nudge would make the run that polls end in favour of a new one.
func (r *OutboxRelay) GrantInvoke(grantee awsiam.IGrantable) awsiam.Grant {
	return r.Relay.GrantInvokeLatestVersion(grantee)
}

// GrantAdmin lets an operator invoke admin, which shows, redrives and discards
// failed events, and pauses buses.
func (r *OutboxRelay) GrantAdmin(grantee awsiam.IGrantable) awsiam.Grant {
	return r.Admin.GrantInvokeLatestVersion(grantee)
}
