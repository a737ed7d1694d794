package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shownLimit bounds how much of a wrong value an error repeats, in bytes.
const shownLimit = 80

// reader takes settings out of an environment and collects what is wrong with
// them. After a problem it returns the default, so that reading goes on.
type reader struct {
	values   map[string]string
	problems []string
	wrong    map[string]bool // keys with a problem of their own
}

func newReader(environ []string) *reader {
	r := &reader{values: make(map[string]string, len(environ)), wrong: map[string]bool{}}
	for _, entry := range environ {
		key, value, _ := strings.Cut(entry, "=")
		r.values[key] = value
	}
	return r
}

// err is nil when there was no problem.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &Error{Problems: r.problems}
}

// Error is what is wrong with an environment.
type Error struct {
	Problems []string // each begins with its key
}

func (e *Error) Error() string { return "configuration: " + strings.Join(e.Problems, "; ") }

// report notes a problem with a key, without its value.
func (r *reader) report(key, format string, args ...any) {
	r.wrong[key] = true
	r.problems = append(r.problems, key+" "+fmt.Sprintf(format, args...))
}

// reject notes that a key's value is not what it has to be. The value is shown,
// so the key must not be one that holds a secret.
func (r *reader) reject(key, expected string) {
	r.report(key, "is %s: expected %s", shown(r.values[key]), expected)
}

func shown(value string) string {
	if len(value) <= shownLimit {
		return strconv.Quote(value)
	}
	return strconv.Quote(value[:shownLimit]) + "..."
}

// sound reports whether the keys have no problem so far: only then does it mean
// anything to compare them.
func (r *reader) sound(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return r.wrong[key] })
}

// optional returns a value of which the empty one means the same as none.
func (r *reader) optional(key string) string { return r.values[key] }

func (r *reader) text(key, fallback, expected string, valid func(string) bool) string {
	value, ok := r.values[key]
	if !ok {
		return fallback
	}
	if !valid(value) {
		r.reject(key, expected)
		return fallback
	}
	return value
}

func (r *reader) integer(key string, fallback, least, most int) int {
	text, ok := r.values[key]
	if !ok {
		return fallback
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < least || value > most {
		r.reject(key, fmt.Sprintf("a whole number from %d to %d", least, most))
		return fallback
	}
	return value
}

// duration reads a value between two bounds. A reason says what a bound is for,
// where that is not plain.
func (r *reader) duration(key string, fallback, least, most time.Duration, reason ...string) time.Duration {
	text, ok := r.values[key]
	if !ok {
		return fallback
	}
	value, err := time.ParseDuration(text)
	if err != nil || value < least || value > most {
		expected := fmt.Sprintf("a duration with its unit (ms, s, m, h), from %s to %s", Brief(least), Brief(most))
		if hint := Days(text); hint != "" {
			reason = append(reason, hint)
		}
		r.reject(key, strings.Join(append([]string{expected}, reason...), ": "))
		return fallback
	}
	return value
}

func (r *reader) boolean(key string, fallback bool) bool {
	text := r.text(key, strconv.FormatBool(fallback), "true or false", func(value string) bool { return value == "true" || value == "false" })
	return text == "true"
}

func (r *reader) oneOf(key, fallback string, choices ...string) string {
	return r.text(key, fallback, "one of "+strings.Join(choices, ", "), func(value string) bool {
		return slices.Contains(choices, value)
	})
}
