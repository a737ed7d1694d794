package main

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// remains names what is left of a stack. The account had nothing else of these
// kinds, but for what the account itself brings.
func (s *stage) remains(ctx context.Context) (left []string, err error) {
	config := s.aws.config()
	note := func(kind, name string) { left = append(left, kind+" "+name) }
	functions, functionsErr := lambda.NewFromConfig(config).ListFunctions(ctx, &lambda.ListFunctionsInput{})
	schedules, schedulesErr := scheduler.NewFromConfig(config).ListSchedules(ctx, &scheduler.ListSchedulesInput{})
	queues, queuesErr := sqs.NewFromConfig(config).ListQueues(ctx, &sqs.ListQueuesInput{})
	buses, busesErr := eventbridge.NewFromConfig(config).ListEventBuses(ctx, &eventbridge.ListEventBusesInput{})
	groups, groupsErr := s.logGroups(ctx)
	if err := errors.Join(functionsErr, schedulesErr, queuesErr, busesErr, groupsErr); err != nil {
		return nil, err
	}
	for _, function := range functions.Functions {
		note("function", *function.FunctionName)
	}
	for _, schedule := range schedules.Schedules {
		note("schedule", *schedule.Name)
	}
	for _, queue := range queues.QueueUrls {
		note("queue", queue)
	}
	for _, bus := range buses.EventBuses {
		if *bus.Name != "default" {
			note("bus", *bus.Name)
		}
	}
	for _, group := range groups {
		note("log group", group)
	}
	return left, nil
}

func (s *stage) logGroups(ctx context.Context) (names []string, err error) {
	described, err := cloudwatchlogs.NewFromConfig(s.aws.config()).DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{})
	if err != nil {
		return nil, err
	}
	for _, group := range described.LogGroups {
		names = append(names, aws.ToString(group.LogGroupName))
	}
	return names, nil
}

// logs are the last lines of all functions.
func (s *stage) logs(ctx context.Context) string {
	groups, err := s.logGroups(ctx)
	if err != nil {
		return err.Error()
	}
	client := cloudwatchlogs.NewFromConfig(s.aws.config())
	var text strings.Builder
	for _, group := range groups {
		text.WriteString("--- " + group + "\n")
		found, err := client.FilterLogEvents(ctx, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: aws.String(group)})
		if err != nil {
			text.WriteString(err.Error() + "\n")
			continue
		}
		var lines strings.Builder
		for _, event := range found.Events {
			lines.WriteString(strings.TrimSpace(aws.ToString(event.Message)) + "\n")
		}
		text.WriteString(tail(lines.String()))
	}
	return text.String()
}
