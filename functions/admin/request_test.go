package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/outbox"
)

const (
	one = "0190163d-8694-739b-aea5-966c26f8ad91"
	two = "ffffffff-8694-739b-aea5-966c26f8ad91"
)

func TestReadsWhatAnEventAsksFor(t *testing.T) {
	t.Parallel()

	everything := outbox.Selection{All: true, Limit: 100}
	for event, want := range map[string]request{
		`{"action":"status"}`:                                       {action: status, selection: outbox.Selection{Limit: 100}},
		`{"action":"list","all":true}`:                              {action: list, selection: everything},
		`{"all":true,"dry_run":true,"action":"list"}`:               {action: list, selection: everything, dryRun: true},
		`{"action":"redrive","all":true,"limit":7,"dry_run":false}`: {action: redrive, selection: outbox.Selection{All: true, Limit: 7}},
		`{"action":"discard","ids":["` + two + `","` + strings.ToUpper(one) + `","` + one + `"]}`: {
			action: discard, selection: outbox.Selection{IDs: []string{one, two}, Limit: 100},
		},
		`{"action":"redrive","event_type":"a","error_code":"b","failed_before":"2024-02-29T13:00:00.5+01:00","all":false,"limit":1000}`: {
			action: redrive, selection: outbox.Selection{
				EventType: "a", ErrorCode: "b", FailedBefore: time.Date(2024, 2, 29, 12, 0, 0, 500_000_000, time.UTC), Limit: 1000,
			},
		},
		`{"action":"pause","topic":"*","reason":"why"}`:    {action: pause, topic: "*", reason: "why", selection: outbox.Selection{Limit: 100}},
		`{"action":"pause","topic":"aws.partner/x.com/y"}`: {action: pause, topic: "aws.partner/x.com/y", selection: outbox.Selection{Limit: 100}},
		`{"action":"resume","topic":"*","reason":"why"}`:   {action: resume, topic: "*", reason: "why", selection: outbox.Selection{Limit: 100}},
		`{"action":"resume","topic":"arn:aws:events:us-east-1:123456789012:event-bus/orders"}`: {
			action: resume, topic: "arn:aws:events:us-east-1:123456789012:event-bus/orders", selection: outbox.Selection{Limit: 100},
		},
	} {
		got, err := parse(json.RawMessage(event))
		require.NoError(t, err, event)
		got.selection.FailedBefore = got.selection.FailedBefore.UTC()
		require.Equal(t, want, got, event)
	}
}

func TestTheDefaultLimitGrowsWithTheIDs(t *testing.T) {
	t.Parallel()

	got, err := parse(json.RawMessage(`{"action":"list","ids":[` + many(150) + `]}`))
	require.NoError(t, err)
	require.Equal(t, 150, got.selection.Limit)
}

// many are so many ids in JSON.
func many(n int) string {
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprintf(`"00000000-0000-0000-0000-%012d"`, i))
	}
	return strings.Join(texts, ",")
}

func TestNamesWhatIsWrongWithAnEvent(t *testing.T) {
	t.Parallel()

	const aText, aTime = "expected a text", "expected a time as RFC 3339 writes it"
	for event, says := range map[string]string{
		``:                     `expected an object such as {"action": "status"}`,
		`null`:                 `the event is null: expected an object`,
		`["list"]`:             `the event is ["list"]: expected an object`,
		`"list"`:               `the event is "list": expected an object`,
		`{"action":"list",`:    `the event is no JSON`,
		`{}`:                   `action is missing: expected one of status, list, redrive, discard, pause, resume`,
		`{"action":"retry"}`:   `action is "retry": expected one of status, list`,
		`{"action":"LIST"}`:    `action is "LIST": expected one of status, list`,
		`{"action":""}`:        `action is "": expected one of status, list`,
		`{"action":null}`:      `action is null: expected one of status, list`,
		`{"action":["list"]}`:  `action is ["list"]: expected one of status, list`,
		`{"Action":"list"}`:    `Action is no key: expected some of action, ids, event_type, error_code, failed_before, all, limit, dry_run, topic, reason`,
		`{"action":"list"}`:    `no events are selected: give at least one of ids`,
		`{"action":"redrive"}`: `no events are selected`,
		`{"action":"discard"}`: `no events are selected`,
		`{"action":"pause"}`:   `topic is missing: expected the name or ARN of an event bus`,
		`{"action":"resume"}`:  `topic is missing`,
		`{"action":"discard","all":true,"al":true}`:                         `al is no key`,
		`{"action":"discard","event_typ":"a"}`:                              `event_typ is no key: expected some of action, ids, event_type`,
		`{"action":"discard","all":true,"all":true}`:                        `all is given more than once`,
		`{"action":"discard","ids":["` + one + `"],"i\u0064s":[]}`:          `ids is given more than once`,
		`{"action":"status","all":true}`:                                    `all is not taken by status, which takes nothing else`,
		`{"action":"list","all":true,"topic":"a"}`:                          `topic is not taken by list, which takes ids, event_type`,
		`{"action":"pause","topic":"a","dry_run":true}`:                     `dry_run is not taken by pause, which takes topic, reason`,
		`{"action":"resume","topic":"a","limit":1}`:                         `limit is not taken by resume, which takes topic, reason`,
		`{"action":"list","all":false}`:                                     `no events are selected`,
		`{"action":"list","all":true,"event_type":"a"}`:                     `all is true beside a filter`,
		`{"action":"list","all":1}`:                                         `all is 1: expected true or false`,
		`{"action":"list","all":"true"}`:                                    `all is "true": expected true or false`,
		`{"action":"list","all":null}`:                                      `all is null: expected true or false`,
		`{"action":"list","all":true,"dry_run":"no"}`:                       `dry_run is "no": expected true or false`,
		`{"action":"list","all":true,"limit":0}`:                            `limit is 0: expected a whole number from 1 to 1000`,
		`{"action":"list","all":true,"limit":1001}`:                         `limit is 1001: expected`,
		`{"action":"list","all":true,"limit":-5}`:                           `limit is -5: expected`,
		`{"action":"list","all":true,"limit":1.5}`:                          `limit is 1.5: expected a whole number`,
		`{"action":"list","all":true,"limit":"5"}`:                          `limit is "5": expected a whole number`,
		`{"action":"list","all":true,"limit":null}`:                         `limit is null: expected a whole number`,
		`{"action":"list","all":true,"limit":99999999999999999999}`:         `limit is 99999999999999999999: expected a whole number`,
		`{"action":"list","ids":[]}`:                                        `ids is []: expected a list of uuids, with at least one`,
		`{"action":"list","ids":"` + one + `"}`:                             `: expected a list of uuids, with at least one`,
		`{"action":"list","ids":null}`:                                      `ids is null: expected a list of uuids`,
		`{"action":"list","ids":["` + one + `","no",7,null]}`:               `ids has 3 that are no uuid: "no", 7, null`,
		`{"action":"list","ids":["{` + one + `}"]}`:                         `ids has 1 that are no uuid`,
		`{"action":"list","ids":["` + strings.Repeat("0", 32) + `"]}`:       `ids has 1 that are no uuid`,
		`{"action":"list","ids":[` + many(1001) + `]}`:                      `ids has 1001: expected at most 1000`,
		`{"action":"list","event_type":""}`:                                 `event_type is "": expected some text, or no such key`,
		`{"action":"list","event_type":5}`:                                  `event_type is 5: ` + aText,
		`{"action":"list","event_type":null}`:                               `event_type is null: ` + aText,
		`{"action":"list","error_code":["a"]}`:                              `error_code is ["a"]: ` + aText,
		`{"action":"list","error_code":"a\u0000"}`:                          `the character U+0000, which the database cannot hold`,
		`{"action":"list","failed_before":"yesterday"}`:                     `failed_before is "yesterday": ` + aTime,
		`{"action":"list","failed_before":"2024-02-29"}`:                    aTime,
		`{"action":"list","failed_before":"2024-02-29T12:00:00"}`:           aTime,
		`{"action":"list","failed_before":"2024-02-30T12:00:00Z"}`:          aTime,
		`{"action":"list","failed_before":"0001-01-01T00:00:00Z"}`:          aTime,
		`{"action":"list","failed_before":1700000000}`:                      aTime,
		`{"action":"list","failed_before":""}`:                              aTime,
		`{"action":"pause","topic":""}`:                                     `topic is "": expected some text`,
		`{"action":"pause","topic":"two words"}`:                            `topic is "two words": expected the name or ARN of an event bus, as in the outbox's topic, or * for all`,
		`{"action":"pause","topic":"orders*"}`:                              `topic is "orders*": expected the name or ARN`,
		`{"action":"pause","topic":["orders"]}`:                             `topic is ["orders"]: ` + aText,
		`{"action":"pause","topic":"a","reason":""}`:                        `reason is "": expected some text`,
		`{"action":"pause","topic":"a","reason":1}`:                         `reason is 1: ` + aText,
		`{"action":"pause","topic":"a","reason":"` + long("é", 1001) + `"}`: `reason has 1001 characters: expected at most 1000`,
		`{"action":"list","event_type":"a","` + long("k", 100) + `":1}`:     long("k", 80) + `... is no key`,
	} {
		_, err := parse(json.RawMessage(event))
		require.ErrorContains(t, err, says, event)
		require.Less(t, len(err.Error()), 1000, event)
	}
}

func long(text string, n int) string { return strings.Repeat(text, n) }

func TestNamesEveryProblemAtOnce(t *testing.T) {
	t.Parallel()

	_, err := parse(json.RawMessage(`{"action":"redrive","limit":5000,"dry_run":1,"topic":"a","foo":true,"foo":false}`))
	for _, says := range []string{
		"limit is 5000", "no events are selected", "dry_run is 1", "topic is not taken by redrive", "foo is no key", "foo is given more than once",
	} {
		require.ErrorContains(t, err, says)
	}

	// What could not be read is not said to be missing.
	_, err = parse(json.RawMessage(`{"action":"redrive","ids":["no"],"limit":"5"}`))
	require.ErrorContains(t, err, `ids has 1 that are no uuid: "no"; limit is "5"`)
	require.NotContains(t, err.Error(), "no events are selected")
}

func TestAReasonMayHaveAThousandCharacters(t *testing.T) {
	t.Parallel()

	got, err := parse(json.RawMessage(`{"action":"pause","topic":"a","reason":"` + long("é", 1000) + `"}`))
	require.NoError(t, err)
	require.Equal(t, long("é", 1000), got.reason)
}
