package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// known are the keys of all functions: one environment may serve several.
var known = []string{
	"CLEANUP_BATCH_SIZE", "CLEANUP_FAILED_RETENTION", "CLEANUP_PAUSE", "CLEANUP_RETENTION",
	"DATABASE_CONNECT_TIMEOUT", "DATABASE_IAM_AUTH", "DATABASE_SECRET_ARN", "DATABASE_URL",
	"EVENT_BUS", "EVENT_BUS_CHECK", "EVENT_ENDPOINT_ID", "EVENT_ENVELOPE", "EVENT_SOURCE",
	"LAG_COUNT_LIMIT", "LOG_LEVEL", "METRICS_NAMESPACE", "OUTBOX_NAME", "OUTBOX_TABLE",
	"PARTITION_AHEAD", "PARTITION_INTERVAL",
	"PUT_EVENTS_MAX_BYTES", "PUT_EVENTS_MAX_ENTRIES", "PUT_EVENTS_TIMEOUT",
	"RELAY_BATCH_BYTES", "RELAY_BATCH_SIZE", "RELAY_CONCURRENCY", "RELAY_FRONT_SCAN_MAX", "RELAY_LISTEN",
	"RELAY_MAX_ATTEMPTS", "RELAY_MAX_RATE", "RELAY_ON_POISON", "RELAY_ON_PUBLISHED", "RELAY_ORDERING",
	"RELAY_PARALLEL", "RELAY_POLL_INTERVAL", "RELAY_RESERVE", "RELAY_RETRY_BASE", "RELAY_RETRY_MAX", "RELAY_SLOTS", "RELAY_WORKERS",
}

// Keys returns the keys of all functions, sorted.
func Keys() []string { return slices.Clone(known) }

// ours are prefixes that nobody else is expected to use in a function's
// environment. LOG_ and METRICS_ are not among them: layers and agents have such.
// OUTBOX_TEST_ is the test suite's (internal/postgrestest).
var ours = []string{"CLEANUP_", "DATABASE_", "EVENT_", "LAG_", "OUTBOX_", "PARTITION_", "PUT_EVENTS_", "RELAY_"}

const (
	// typo is how many edits away from a known key any key is taken for a
	// mistyped one.
	typo = 1
	// guess is how many edits away a known key is worth being suggested, at most;
	// one of so many characters may be wrong.
	guess   = 4
	wrongOf = 4
	// shortest is the length from which the begin of a key is one.
	shortest = 3
)

func (r *reader) checkKeys() {
	for _, key := range slices.Sorted(maps.Keys(r.values)) {
		if slices.Contains(known, key) {
			continue
		}
		_, distance := nearest(key, known)
		looksLikeOurs := hasAnyPrefix(key, ours) && !strings.HasPrefix(key, "OUTBOX_TEST_")
		if distance > typo && !looksLikeOurs {
			continue
		}
		r.report(key, "is no setting%s", Suggest(key, known))
	}
}

func hasAnyPrefix(key string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// Suggest returns what ends a sentence about a key that is none: a question
// whether the nearest of all keys was meant, or nothing if none is near.
func Suggest(key string, keys []string) string {
	found, distance := nearest(key, keys)
	if distance > typo {
		if begun := begunBy(key, keys); begun != "" {
			found, distance = begun, 0
		}
	}
	if distance <= min(guess, max(typo, len(squeeze(key))/wrongOf)) {
		return fmt.Sprintf(": did you mean %s?", found)
	}
	return ""
}

// begunBy returns the key of which somebody may have left off the end: the only
// one that begins so, or the shortest if little is missing; empty: none.
func begunBy(key string, keys []string) string {
	if len(key) < shortest {
		return ""
	}
	begun := slices.DeleteFunc(slices.Clone(keys), func(candidate string) bool {
		return !strings.HasPrefix(squeeze(candidate), squeeze(key))
	})
	if len(begun) == 0 {
		return ""
	}
	found := slices.MinFunc(begun, func(a, b string) int { return len(a) - len(b) })
	if len(begun) > 1 && len(found)-len(key) > len(found)/wrongOf {
		return ""
	}
	return found
}

// nearest compares without underscores and case, so that these make no
// difference: they are what is mistaken most.
func nearest(key string, keys []string) (found string, distance int) {
	distance = guess + 1
	for _, candidate := range keys {
		if d := editDistance(squeeze(key), squeeze(candidate)); d < distance {
			found, distance = candidate, d
		}
	}
	return found, distance
}

func squeeze(key string) string { return strings.ToUpper(strings.ReplaceAll(key, "_", "")) }

// editDistance counts the bytes to insert, delete or replace (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
