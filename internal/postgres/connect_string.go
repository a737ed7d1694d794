package postgres

import (
	"net/url"
	"regexp"
	"strings"
)

// hostToCome stands for a host that the secret will name. It makes the driver
// prepare TLS, which it would leave out for its default, a Unix socket.
const hostToCome = "host-of-the-secret.invalid"

// keyword matches one setting of a keyword string.
var keyword = regexp.MustCompile(`(?s)([^\s=]+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)*)`)

// connectKeys returns what a connection string sets itself, by libpq's
// keywords. The driver only tells the outcome, in which a default looks like a
// choice. It is right about strings that the driver accepts; a key that is set
// to nothing is there, with an empty value.
func connectKeys(text string) map[string]string {
	rest, isURL := cutScheme(text)
	if isURL {
		return urlKeys(rest)
	}
	keys := map[string]string{}
	for _, match := range keyword.FindAllStringSubmatch(text, -1) {
		value := match[2]
		if strings.HasPrefix(value, "'") {
			value = value[1 : len(value)-1]
		}
		keys[canonical(match[1])] = strings.ReplaceAll(value, `\`, "")
	}
	return keys
}

func cutScheme(text string) (rest string, isURL bool) {
	for _, scheme := range []string{"postgres://", "postgresql://"} {
		if rest, ok := strings.CutPrefix(text, scheme); ok {
			return rest, true
		}
	}
	return text, false
}

// urlKeys takes a URL without its scheme, and leaves out the password.
func urlKeys(rest string) map[string]string {
	user, _, _ := strings.Cut(strings.TrimSuffix(rest, afterUser(rest)), ":")
	rest, query, _ := strings.Cut(afterUser(rest), "?")
	addresses, database, _ := strings.Cut(rest, "/")
	host, port := splitAddresses(addresses)
	keys := map[string]string{}
	for key, value := range map[string]string{"user": strings.TrimSuffix(user, "@"), "host": host, "port": port, "database": database} {
		if value != "" {
			keys[key] = value
		}
	}
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		keys[canonical(decoded(key))] = decoded(value)
	}
	if keys["sslmode"] == "" && keys["ssl"] == "true" {
		keys["sslmode"] = "require" // the driver's reading of ssl=true
	}
	return keys
}

// splitAddresses returns the first host and the first port of a list.
func splitAddresses(list string) (host, port string) {
	for address := range strings.SplitSeq(list, ",") {
		colon := strings.LastIndexByte(address, ':')
		if colon < strings.LastIndexByte(address, ']') {
			colon = -1 // of an IPv6 address
		}
		if colon < 0 {
			colon = len(address)
		} else if port == "" {
			port = address[colon+1:]
		}
		if host == "" {
			host = address[:colon]
		}
	}
	return host, port
}

// decoded is only as good as it has to be: what it cannot decode the driver
// refuses.
func decoded(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	return strings.TrimSpace(text)
}

func canonical(key string) string {
	if key == "dbname" {
		return "database"
	}
	return key
}

// addKeys adds settings, each as key=value, that a connection string does not have, not even as an
// empty one. It is for constants and values out of a fixed choice: nothing is
// encoded. Keywords go in front, where the string's end cannot swallow them.
func addKeys(text string, pairs ...string) string {
	rest, isURL := cutScheme(text)
	if !isURL {
		return strings.Join(pairs, " ") + " " + text
	}
	separator := "&"
	if _, query, found := strings.Cut(afterUser(rest), "?"); !found {
		separator = "?"
	} else if query == "" {
		separator = ""
	}
	return text + separator + strings.Join(pairs, "&")
}

// afterUser takes user and password off a URL without its scheme, as the driver
// does: they end at the @ before the path.
func afterUser(rest string) string {
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		return rest[i+1:]
	}
	return rest
}
