package main

import "outboxrelay/internal/outbox"

// summary is the one line that an action writes to the log: what was asked for,
// and what has changed. Of a discard, it is all that is left.
func summary(request request, result outbox.AdminResult) []any {
	line := []any{"action", request.action}
	if request.topic != "" {
		line = append(line, "topic", request.topic)
		line = given(line, "reason", request.reason)
	} else {
		line = append(line, "dry_run", request.dryRun)
		line = append(line, selected(request.selection)...)
	}
	line = append(line, "matched", result.Matched, "changed", result.Changed)
	if len(result.Events) > 0 && result.Changed > 0 {
		line = append(line, "first_seq", result.Events[0].Seq, "last_seq", result.Events[len(result.Events)-1].Seq)
	}
	return line
}

// selected are the filters. Of ids, their number.
func selected(selection outbox.Selection) []any {
	line := []any{"limit", selection.Limit}
	if len(selection.IDs) > 0 {
		line = append(line, "ids", len(selection.IDs))
	}
	line = given(line, "event_type", selection.EventType)
	line = given(line, "error_code", selection.ErrorCode)
	return given(line, "failed_before", written(selection.FailedBefore))
}

// given adds a text that is not empty.
func given(line []any, key, text string) []any {
	if text == "" {
		return line
	}
	return append(line, key, text)
}
