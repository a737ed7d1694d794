package main

import (
	"context"

	"outboxrelay/internal/outbox"
)

// act does what is asked for and writes a line about it to the log.
func (f *function) act(ctx context.Context, request request) (any, error) {
	if request.action == status {
		return f.status(ctx)
	}
	result, err := f.change(ctx, request)
	if err != nil {
		return nil, err
	}
	if len(result.Kept) > 0 {
		f.log.WarnContext(ctx, "the database kept events from being changed: look for a trigger, a rule or a policy on its tables",
			"action", request.action, "seqs", result.Kept)
	}
	f.log.InfoContext(ctx, "action done", summary(request, result)...)
	return newAnswer(result), nil
}

func (f *function) status(ctx context.Context) (any, error) {
	current, err := f.admin.Status(ctx)
	if err != nil {
		return nil, err
	}
	if current.LagError != nil {
		f.log.WarnContext(ctx, "the lag could not be measured", "error", current.LagError)
	}
	f.log.InfoContext(ctx, "action done", "action", status)
	return newStatusAnswer(current), nil
}

// change does what is asked for. A dry run of a change is a list of what it
// would take.
func (f *function) change(ctx context.Context, request request) (outbox.AdminResult, error) {
	switch {
	case request.action == pause:
		return f.admin.Pause(ctx, request.topic, request.reason)
	case request.action == resume:
		return f.admin.Resume(ctx, request.topic)
	case request.action == redrive && !request.dryRun:
		return f.admin.Redrive(ctx, request.selection)
	case request.action == discard && !request.dryRun:
		return f.admin.Discard(ctx, request.selection)
	default:
		return f.admin.List(ctx, request.selection)
	}
}
