package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// reader takes values out of a JSON object and collects what is wrong with
// them. A key that is not there reads as the zero value.
type reader struct {
	keys     []string // in their order, each once
	values   map[string]json.RawMessage
	problems []string
	wrong    map[string]bool // keys with a problem
}

// newReader reads the members of an object. Where a key comes twice, decoders
// differ in which value counts, so that is a problem.
func newReader(event json.RawMessage) (*reader, error) {
	r := &reader{values: map[string]json.RawMessage{}, wrong: map[string]bool{}}
	decoder := json.NewDecoder(bytes.NewReader(event))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, fmt.Errorf(`the event is %s: expected an object such as {"action": "status"}`, shown(event))
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("the event is no JSON: %w", err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("the event is no JSON: %w", err)
		}
		r.add(key.(string), value)
	}
	return r, nil
}

func (r *reader) add(key string, value json.RawMessage) {
	if r.values[key] != nil {
		r.report(key, "is given more than once")
		return
	}
	r.keys = append(r.keys, key)
	r.values[key] = value
}

// report notes a problem with a key.
func (r *reader) report(key, format string, args ...any) {
	r.wrong[key] = true
	r.problems = append(r.problems, brief(key)+" "+fmt.Sprintf(format, args...))
}

// reject notes that a key's value is not what it has to be.
func (r *reader) reject(key, expected string) {
	r.report(key, "is %s: expected %s", shown(r.values[key]), expected)
}

// sound reports whether the keys have no problem.
func (r *reader) sound(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return r.wrong[key] })
}

// shown is as much of a value as an error repeats.
func shown(value json.RawMessage) string { return brief(string(value)) }

func brief(text string) string {
	const most = 80
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return fmt.Sprintf("%.*s...", most, text)
}

func (r *reader) text(key string) string { return r.textUpTo(key, 0) }

// textUpTo reads a text of so many characters; 0: any number.
func (r *reader) textUpTo(key string, most int) string {
	value := r.values[key]
	if value == nil {
		return ""
	}
	text, err := unquote(value)
	switch {
	case err != nil:
		r.reject(key, "a text")
	case text == "":
		r.reject(key, "some text, or no such key")
	case strings.ContainsRune(text, 0):
		r.reject(key, "a text without the character U+0000, which the database cannot hold")
	case most > 0 && utf8.RuneCountInString(text) > most:
		r.report(key, "has %d characters: expected at most %d", utf8.RuneCountInString(text), most)
	default:
		return text
	}
	return ""
}

func unquote(value json.RawMessage) (text string, err error) {
	if value[0] != '"' {
		return "", errors.New("no text") // null would be taken for an empty one
	}
	err = json.Unmarshal(value, &text)
	return text, err
}

func (r *reader) oneOf(key string, choices []string) string {
	expected := "one of " + strings.Join(choices, ", ")
	if r.values[key] == nil {
		r.report(key, "is missing: expected %s", expected)
		return ""
	}
	text, err := unquote(r.values[key])
	if err != nil || !slices.Contains(choices, text) {
		r.reject(key, expected)
		return ""
	}
	return text
}

func (r *reader) boolean(key string) bool {
	switch string(r.values[key]) {
	case "true":
		return true
	case "", "false":
	default:
		r.reject(key, "true or false")
	}
	return false
}

// integer reads a number; where there is none, it is the fallback.
func (r *reader) integer(key string, fallback int) int {
	value := r.values[key]
	if value == nil {
		return fallback
	}
	number, err := strconv.Atoi(string(value))
	if err != nil {
		r.reject(key, "a whole number")
	}
	return number
}

func (r *reader) time(key string) (at time.Time) {
	value := r.values[key]
	if value == nil {
		return time.Time{}
	}
	text, err := unquote(value)
	if err != nil || at.UnmarshalText([]byte(text)) != nil || at.IsZero() {
		r.reject(key, "a time as RFC 3339 writes it, such as 2026-11-30T09:00:00Z")
		return time.Time{}
	}
	return at
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// uuids reads a list, each of it once, in lower case.
func (r *reader) uuids(key string) []string {
	value := r.values[key]
	if value == nil {
		return nil
	}
	var values []json.RawMessage
	if value[0] != '[' || json.Unmarshal(value, &values) != nil || len(values) == 0 {
		r.reject(key, "a list of uuids, with at least one")
		return nil
	}
	ids, wrong := make([]string, 0, len(values)), []string(nil)
	for _, value := range values {
		text, err := unquote(value)
		if text = strings.ToLower(text); err != nil || !uuid.MatchString(text) {
			wrong = append(wrong, shown(value))
			continue
		}
		ids = append(ids, text)
	}
	if len(wrong) > 0 {
		const most = 10
		r.report(key, "has %d that are no uuid: %s", len(wrong), strings.Join(wrong[:min(most, len(wrong))], ", "))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
