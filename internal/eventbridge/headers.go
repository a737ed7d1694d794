package eventbridge

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// The headers that mean something here; the rest is only carried along.
const (
	traceParentKey = "traceparent"
	traceStateKey  = "tracestate"
	xrayKey        = "xray_trace_id"
)

const maxTraceHeader = 500 // characters

// presentHeaders is empty where headers are JSON null: that is what an absent column is in JSON.
func presentHeaders(headers string) string {
	if text := strings.Trim(headers, " \n\t\r"); text == "" || text == "null" {
		return ""
	}
	return headers
}

// headerString finds a text by its key and returns it as it stands in the headers, with quotes and escapes; empty when it is
// absent, empty or no text. The headers are a JSON object.
func headerString(headers, key string) string {
	if !strings.Contains(headers, key) { // most events: nothing to look for
		return ""
	}
	if value := lastMember(headers, key); len(value) > len(`""`) && value[0] == '"' {
		return value
	}
	return ""
}

// lastMember returns the value of a key of a JSON object. Of two the last one counts, as in most decoders.
func lastMember(object, key string) (value string) {
	s := scanner{text: object}
	s.space()
	s.pos++ // the brace
	for s.space(); s.peek() == '"'; s.space() {
		start := s.pos
		if s.key() != nil {
			return ""
		}

		found := strings.HasPrefix(object[start+1:], key+`"`)
		s.space()
		start = s.pos
		if s.value(maxLevels) != nil {
			return ""
		}
		if found {
			value = object[start:s.pos]
		}

		s.space()
		s.take(",")
	}
	return value
}

// traceHeader is the X-Ray header of an entry. One that EventBridge would refuse, and the whole request with it, is left out.
func traceHeader(headers string) *string {
	quoted := headerString(headers, xrayKey)
	if quoted == "" {
		return nil
	}

	header := quoted[1 : len(quoted)-1]
	if strings.IndexByte(header, '\\') >= 0 && json.Unmarshal([]byte(quoted), &header) != nil {
		return nil
	}
	if header == "" || utf8.RuneCountInString(header) > maxTraceHeader {
		return nil
	}
	return &header
}
