package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"outboxrelay/internal/config"
	"outboxrelay/internal/outbox"
)

// The actions.
const (
	status  = "status"
	list    = "list"
	redrive = "redrive"
	discard = "discard"
	pause   = "pause"
	resume  = "resume"
)

var actions = []string{status, list, redrive, discard, pause, resume}

// filters are the keys that say which failed events are meant.
var filters = []string{"ids", "event_type", "error_code", "failed_before", "all", "limit"}

// takes are the keys of an action, beside action itself.
var takes = map[string][]string{
	status:  nil,
	list:    selecting,
	redrive: selecting,
	discard: selecting,
	pause:   {"topic", "reason"},
	resume:  {"topic", "reason"},
}

var selecting = append(slices.Clone(filters), "dry_run")

// reasonMost is how many characters a reason has at most.
const reasonMost = 1000

// request is what an event asks for.
type request struct {
	action        string
	selection     outbox.Selection // of list, redrive, discard
	dryRun        bool
	topic, reason string // of pause, resume
}

// parse reads an event. The error names every problem: a key that is not known
// or not taken by the action is one too, since a filter with a typo would be
// none.
func parse(event json.RawMessage) (request, error) {
	r, err := newReader(event)
	if err != nil {
		return request{}, err
	}
	ids := r.uuids("ids")
	asked := request{
		action: r.oneOf("action", actions),
		selection: outbox.Selection{
			IDs:          ids,
			EventType:    r.text("event_type"),
			ErrorCode:    r.text("error_code"),
			FailedBefore: r.time("failed_before"),
			All:          r.boolean("all"),
			Limit:        r.integer("limit", outbox.DefaultLimit(len(ids))),
		},
		dryRun: r.boolean("dry_run"),
		topic:  r.bus("topic"),
		reason: r.textUpTo("reason", reasonMost),
	}
	r.checkKeys(asked.action)
	r.checkNeeds(asked)
	if len(r.problems) > 0 {
		return request{}, errors.New("the event is wrong: " + strings.Join(r.problems, "; "))
	}
	return asked, nil
}

// checkKeys reports keys that have no effect.
func (r *reader) checkKeys(action string) {
	for _, key := range r.keys {
		all := slices.Concat([]string{"action"}, selecting, takes[pause])
		taken, known := takes[action]
		switch {
		case !slices.Contains(all, key):
			r.report(key, "is no key: expected some of %s", strings.Join(all, ", "))
		case known && key != "action" && len(taken) == 0:
			r.report(key, "is not taken by %s, which takes nothing else", action)
		case known && key != "action" && !slices.Contains(taken, key):
			r.report(key, "is not taken by %s, which takes %s", action, strings.Join(taken, ", "))
		}
	}
}

// checkNeeds reports what the action lacks, where all that it is about could be
// read.
func (r *reader) checkNeeds(asked request) {
	taken := takes[asked.action]
	switch {
	case slices.Contains(taken, "topic") && r.values["topic"] == nil:
		r.report("topic", "is missing: expected %s", aBus)
	case slices.Contains(taken, "ids") && r.sound(filters...):
		if err := asked.selection.Validate(); err != nil {
			r.problems = append(r.problems, err.Error())
		}
	}
}

const aBus = "the name or ARN of an event bus, as in the outbox's topic, or * for all"

// bus reads what outbox_paused takes as a topic.
func (r *reader) bus(key string) string {
	text := r.text(key)
	if text != "" && text != "*" && !config.IsEventBus(text) {
		r.reject(key, aBus)
		return ""
	}
	return text
}
