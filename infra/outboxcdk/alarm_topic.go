package outboxcdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"
)

// addTopic takes the topic that is given, or makes one.
func (r *OutboxRelay) addTopic() {
	alarms := r.props.Alarms
	if alarms.TopicArn != "" {
		r.Topic = awssns.Topic_FromTopicArn(r.Construct, jsii.String("AlarmTopic"), jsii.String(alarms.TopicArn))
		return
	}
	topic := awssns.NewTopic(r.Construct, jsii.String("AlarmTopic"), &awssns.TopicProps{
		DisplayName: jsii.String("Alarms of the outbox " + r.props.Name),
		EnforceSSL:  jsii.Bool(true),
		MasterKey:   r.topicKey(),
	})
	topic.AddToResourcePolicy(r.alarmsMayPublish(topic.TopicArn()))
	if alarms.Email != "" {
		topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(jsii.String(alarms.Email), nil))
	}
	r.Topic = topic
}

// topicKey is the key of an encrypted topic. The key that AWS manages for SNS will
// not do: CloudWatch may not use it, and alarms would not be heard.
func (r *OutboxRelay) topicKey() awskms.IKey {
	if !r.props.Alarms.Encrypted {
		return nil
	}
	key := awskms.NewKey(r.Construct, jsii.String("AlarmKey"), &awskms.KeyProps{
		Description:       jsii.String("Encrypts the alarms of the outbox " + r.props.Name),
		EnableKeyRotation: jsii.Bool(true),
		RemovalPolicy:     awscdk.RemovalPolicy_DESTROY,
	})
	// As AWS documents it, without the conditions of the topic: should CloudWatch
	// not send what they ask for, no alarm would be heard. In the policy of a key,
	// * is this key.
	key.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String("Encrypt"), Principals: cloudWatch(),
		Actions: jsii.Strings("kms:Decrypt", "kms:GenerateDataKey*"), Resources: jsii.Strings("*"),
	}), nil)
	return key
}

// alarmsMayPublish lets the alarms of this account publish. A topic with a policy of
// its own has none of what the default policy permits.
func (r *OutboxRelay) alarmsMayPublish(topic *string) awsiam.PolicyStatement {
	stack := awscdk.Stack_Of(r.Construct)
	alarms := stack.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("cloudwatch"), Resource: jsii.String("alarm"), ResourceName: jsii.String("*"),
		ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME,
	})
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String("Publish"), Principals: cloudWatch(),
		Actions: jsii.Strings("sns:Publish"), Resources: &[]*string{topic},
		Conditions: &map[string]any{
			"StringEquals": map[string]any{"aws:SourceAccount": stack.Account()},
			"ArnLike":      map[string]any{"aws:SourceArn": alarms},
		},
	})
}

func cloudWatch() *[]awsiam.IPrincipal {
	return &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("cloudwatch.amazonaws.com"), nil)}
}
