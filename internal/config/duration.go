package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Brief writes 5m0s as 5m.
func Brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

var days = regexp.MustCompile(`^(\d{1,5})d$`)

// Days says how a text such as 7d, which is no duration, is written as one; empty:
// the text is no number of days.
func Days(text string) string {
	found := days.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	count, _ := strconv.Atoi(found[1])
	if count == 1 {
		return "a day is 24h"
	}
	return fmt.Sprintf("%d days are %dh", count, 24*count)
}
