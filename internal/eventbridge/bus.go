package eventbridge

import "strings"

const (
	maxBusName = 1600
	busInARN   = ":event-bus/"
)

// validBus reports whether EventBridge takes bus as the name or ARN of a bus. It refuses the whole request otherwise.
func validBus(bus string) bool {
	if bus == "" || len(bus) > maxBusName {
		return false
	}

	name := bus
	if strings.HasPrefix(bus, "arn:") {
		// The Region and partition are left to EventBridge: new ones appear.
		owner, rest, found := strings.Cut(bus, busInARN)
		parts := strings.Split(owner, ":")
		if !found || len(parts) != 5 || parts[2] != "events" || len(parts[4]) != 12 || !all(parts[4], isDigit) {
			return false
		}

		name = rest
	}
	return name != "" && all(name, isNameByte)
}

// busName is the name of a bus that is given by its name or ARN.
func busName(bus string) string {
	if _, name, found := strings.Cut(bus, busInARN); found {
		return name
	}
	return bus
}

func all(text string, is func(byte) bool) bool {
	for i := range len(text) {
		if !is(text[i]) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '-' || c == '_' || c == '.' || c == '/'
}
