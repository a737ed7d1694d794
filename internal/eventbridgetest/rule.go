package eventbridgetest

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

// AWS's limits that nothing here makes configurable.
const (
	maxEntries     = 10
	maxResource    = 2048
	maxTraceHeader = 500
	maxBusName     = 1600

	busPattern = `(arn:aws[\w-]*:events:[a-z]+-[a-z]+-[\w-]+:[0-9]{12}:event-bus\/)?[/\.\-_A-Za-z0-9]+`
)

var busRegexp = regexp.MustCompile(`^` + busPattern + `$`)

// checkRequest applies the rules whose violation refuses the whole request: the constraints of the API's model, then the size.
func checkRequest(request *wireRequest, size, maxBytes int) *awsjson.Error {
	if err := checkCount(request.Entries); err != nil {
		return err
	}
	for i := range *request.Entries {
		if err := checkMembers(i+1, &(*request.Entries)[i]); err != nil {
			return err
		}
	}
	if size > maxBytes {
		return validation("Total size of the entries in the request is over the limit.")
	}
	return nil
}

func checkCount(entries *[]wireEntry) *awsjson.Error {
	switch {
	case entries == nil:
		return constraint("Value null at 'entries'", "Member must not be null")
	case len(*entries) == 0:
		return constraint("Value '[]' at 'entries'", "Member must have length greater than or equal to 1")
	case len(*entries) > maxEntries:
		return constraint("Value '[PutEventsRequestEntry(...)]' at 'entries'",
			fmt.Sprintf("Member must have length less than or equal to %d", maxEntries))
	default:
		return nil
	}
}

func checkMembers(n int, e *wireEntry) *awsjson.Error {
	if err := checkLength(n, "eventBusName", e.EventBusName, maxBusName); err != nil {
		return err
	}
	if e.EventBusName != nil && !validBusName(*e.EventBusName) {
		return constraint(fmt.Sprintf("Value '%s' at 'entries.%d.member.eventBusName'", *e.EventBusName, n),
			"Member must satisfy regular expression pattern: "+busPattern)
	}
	if err := checkLength(n, "traceHeader", e.TraceHeader, maxTraceHeader); err != nil {
		return err
	}
	for _, resource := range e.Resources {
		if len(resource) > maxResource {
			return constraint(fmt.Sprintf("Value '%s' at 'entries.%d.member.resources'", e.Resources, n),
				fmt.Sprintf("Member must satisfy constraint: [Member must have length less than or equal to %d]", maxResource))
		}
	}
	return nil
}

func checkLength(n int, member string, value *string, limit int) *awsjson.Error {
	if value == nil || *value != "" && len(*value) <= limit {
		return nil
	}

	rule := fmt.Sprintf("Member must have length less than or equal to %d", limit)
	if *value == "" {
		rule = "Member must have length greater than or equal to 1"
	}
	return constraint(fmt.Sprintf("Value '%s' at 'entries.%d.member.%s'", *value, n, member), rule)
}

// validBusName spares plain names the regular expression; it runs for every entry of a benchmark.
func validBusName(name string) bool {
	if strings.IndexByte(name, ':') >= 0 {
		return busRegexp.MatchString(name)
	}
	for i := range len(name) {
		if !isBusChar(name[i]) {
			return false
		}
	}
	return true
}

func isBusChar(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("/.-_", c) >= 0
}

func constraint(value, rule string) *awsjson.Error {
	return validation("1 validation error detected: " + value + " failed to satisfy constraint: " + rule)
}

func validation(message string) *awsjson.Error {
	return &awsjson.Error{Status: http.StatusBadRequest, Code: "ValidationException", Message: message}
}
