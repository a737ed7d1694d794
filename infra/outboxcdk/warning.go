package outboxcdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// warning is of what may be meant so, and mostly is not. Who means it can
// acknowledge it by its id.
type warning struct{ id, text string }

func (r *OutboxRelay) addWarnings() {
	for _, w := range append(r.props.Database.suffixWarnings(), r.props.Database.portWarnings()...) {
		awscdk.Annotations_Of(r).AddWarningV2(jsii.String("outboxrelay:"+w.id), jsii.String(w.text), nil)
	}
}
