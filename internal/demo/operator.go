package main

import (
	"context"
	"fmt"
	"maps"
)

// stepLimit is how many failed events the function admin is to change at once:
// few, so that it takes several steps.
const stepLimit = 10

// operator looks after the outbox by the function admin.
type operator struct {
	admin invoke
	say   say
}

// adminEvent is what the function admin is invoked with.
type adminEvent map[string]any

// adminAnswer is what it answers.
type adminAnswer struct {
	Matched int `json:"matched"`
	Changed int `json:"changed"`
	Events  []struct {
		ID string `json:"id"`
	} `json:"events"`
}

func (o *operator) pause(ctx context.Context, bus string) error {
	return o.switchBus(ctx, adminEvent{"action": "pause", "topic": bus, "reason": "to show that it can be"})
}

func (o *operator) resume(ctx context.Context, bus string) error {
	return o.switchBus(ctx, adminEvent{"action": "resume", "topic": bus})
}

func (o *operator) switchBus(ctx context.Context, event adminEvent) error {
	answer, err := ask[adminAnswer](ctx, o.admin, event)
	if err == nil && answer.Changed != 1 {
		err = fmt.Errorf("it changed %d buses", answer.Changed)
	}
	if err != nil {
		return fmt.Errorf("admin, %s of bus %s: %w", event["action"], event["topic"], err)
	}
	return nil
}

// expect holds the status of a drained outbox against the failed table.
func (o *operator) expect(ctx context.Context, failed int) error {
	status, err := ask[lagAnswer](ctx, o.admin, adminEvent{"action": "status"})
	if err == nil && (status.Unpublished != 0 || status.Failed != failed) {
		err = fmt.Errorf("%d unpublished and %d failed events, where there are 0 and %d", status.Unpublished, status.Failed, failed)
	}
	if err != nil {
		return fmt.Errorf("admin, status: %w", err)
	}
	return nil
}

// change applies an action to all failed events that a filter takes: first as a
// dry run, then in steps until none is left. It returns their ids.
func (o *operator) change(ctx context.Context, action string, filter adminEvent) ([]string, error) {
	event := adminEvent{"action": action, "limit": stepLimit}
	maps.Copy(event, filter)
	ids, err := o.repeat(ctx, event)
	if err != nil {
		return nil, fmt.Errorf("admin, %s: %w", action, err)
	}
	return ids, nil
}

func (o *operator) repeat(ctx context.Context, event adminEvent) (ids []string, err error) {
	left, err := o.rehearse(ctx, event)
	if err != nil {
		return nil, err
	}
	steps := 0
	for ; left > 0; steps++ {
		answer, err := ask[adminAnswer](ctx, o.admin, event)
		if err != nil {
			return nil, err
		}
		step := min(left, stepLimit)
		if answer.Matched != left || answer.Changed != step || len(answer.Events) != step {
			return nil, fmt.Errorf("with %d events left it matched %d, changed %d and listed %d",
				left, answer.Matched, answer.Changed, len(answer.Events))
		}
		for _, e := range answer.Events {
			ids = append(ids, e.ID)
		}
		left -= step
	}
	o.say("admin, %s: a dry run found %d events; done in %d steps", event["action"], len(ids), steps)
	return ids, nil
}

// rehearse is the dry run; it returns how many events are matched.
func (o *operator) rehearse(ctx context.Context, event adminEvent) (int, error) {
	dry := maps.Clone(event)
	dry["dry_run"] = true
	answer, err := ask[adminAnswer](ctx, o.admin, dry)
	if err == nil && answer.Changed != 0 {
		err = fmt.Errorf("a dry run changed %d events", answer.Changed)
	}
	return answer.Matched, err
}
