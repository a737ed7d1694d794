package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	consumerName = "warehouse"
	// eventSource is the source of the application's events, which the rule is for.
	eventSource = "shop"
	// longPoll is how long one call waits for events, in seconds.
	longPoll = 5
)

// consumer is another application, which has a rule on the bus and a queue.
type consumer struct {
	queues *sqs.Client
	buses  *eventbridge.Client
	queue  string // its URL
}

// arrived is an event in the form in which EventBridge delivers it.
type arrived struct {
	DetailType string `json:"detail-type"`
	Source     string `json:"source"`
	Detail     struct {
		Metadata struct {
			ID            string `json:"id"`
			Type          string `json:"type"`
			AggregateType string `json:"aggregate_type"`
			AggregateID   string `json:"aggregate_id"`
		} `json:"metadata"`
		Data json.RawMessage `json:"data"`
	} `json:"detail"`
}

// openConsumer makes the queue and the rule, on a bus that is there.
func openConsumer(ctx context.Context, config aws.Config) (*consumer, error) {
	c := &consumer{queues: sqs.NewFromConfig(config), buses: eventbridge.NewFromConfig(config)}
	created, err := c.queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(consumerName)})
	if err != nil {
		return nil, fmt.Errorf("create a queue: %w", err)
	}
	c.queue = *created.QueueUrl
	rule, err := c.buses.PutRule(ctx, &eventbridge.PutRuleInput{
		Name: aws.String(consumerName), EventBusName: aws.String(busName),
		EventPattern: aws.String(`{"source": ["` + eventSource + `"]}`),
	})
	if err != nil {
		return nil, fmt.Errorf("put a rule on bus %s: %w", busName, err)
	}
	if err := c.connect(ctx, *rule.RuleArn); err != nil {
		return nil, err
	}
	return c, nil
}

// connect lets the rule send to the queue, and makes it do so.
func (c *consumer) connect(ctx context.Context, rule string) error {
	queue := "arn:aws:sqs:" + region + ":" + account + ":" + consumerName
	policy := fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"},
		"Action": "sqs:SendMessage", "Resource": %q, "Condition": {"ArnEquals": {"aws:SourceArn": %q}}}]}`, queue, rule)
	_, err := c.queues.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: aws.String(c.queue), Attributes: map[string]string{"Policy": policy},
	})
	if err != nil {
		return fmt.Errorf("let the rule send to the queue: %w", err)
	}
	put, err := c.buses.PutTargets(ctx, &eventbridge.PutTargetsInput{
		Rule: aws.String(consumerName), EventBusName: aws.String(busName),
		Targets: []ebtypes.Target{{Id: aws.String(consumerName), Arn: aws.String(queue)}},
	})
	if err == nil && put.FailedEntryCount > 0 {
		err = errors.New(aws.ToString(put.FailedEntries[0].ErrorMessage))
	}
	if err != nil {
		return fmt.Errorf("send what matches the rule to the queue: %w", err)
	}
	return nil
}

// receive returns the next events, or none if none came for a while.
func (c *consumer) receive(ctx context.Context) ([]arrived, error) {
	received, err := c.queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: aws.String(c.queue), MaxNumberOfMessages: 10, WaitTimeSeconds: longPoll,
	})
	if err != nil {
		return nil, fmt.Errorf("receive from the queue: %w", err)
	}
	var events []arrived
	for _, delivery := range received.Messages {
		event, err := c.accept(ctx, delivery)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

func (c *consumer) accept(ctx context.Context, delivery sqstypes.Message) (event arrived, err error) {
	if err := json.Unmarshal([]byte(*delivery.Body), &event); err != nil {
		return arrived{}, fmt.Errorf("read what the queue has: %w", err)
	}
	_, err = c.queues.DeleteMessage(ctx, &sqs.DeleteMessageInput{
		QueueUrl: aws.String(c.queue), ReceiptHandle: delivery.ReceiptHandle,
	})
	return event, err
}

// close takes the rule from the bus, which AWS would not delete with it, and
// deletes the queue.
func (c *consumer) close(ctx context.Context) error {
	_, targets := c.buses.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{
		Rule: aws.String(consumerName), EventBusName: aws.String(busName), Ids: []string{consumerName},
	})
	_, rule := c.buses.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: aws.String(consumerName), EventBusName: aws.String(busName)})
	_, queue := c.queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: aws.String(c.queue)})
	if err := errors.Join(targets, rule, queue); err != nil {
		return fmt.Errorf("delete rule and queue: %w", err)
	}
	return nil
}
