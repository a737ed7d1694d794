package settings

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"outboxrelay/infra/outboxcdk"
	"outboxrelay/internal/config"
)

// What is between the markers of a document is made here.
const (
	beginMarker = "<!-- settings: written by make settings -->\n"
	endMarker   = "<!-- end of settings -->\n"
)

// Document puts the table between the markers of a document.
func Document(content string) (string, error) {
	before, rest, begun := strings.Cut(content, beginMarker)
	_, after, ended := strings.Cut(rest, endMarker)
	if !begun || !ended {
		return "", errors.New("there are no markers for the settings")
	}
	return before + beginMarker + "\n" + Table() + "\n" + endMarker + after, nil
}

// Table is the documentation of all settings, in Markdown.
func Table() string {
	var out strings.Builder
	s := defaults()
	for _, section := range s.sections() {
		fmt.Fprintf(&out, "**%s**\n\n| setting | default | meaning |\n|---|---|---|\n", section.Name())
		section.VisitAll(func(setting *flag.Flag) {
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", setting.Name, defaultText(setting), setting.Usage)
		})
		out.WriteString("\n")
	}
	out.WriteString("**Keys of the environment that libraries of the functions read**\n\n| key | default | meaning |\n|---|---|---|\n")
	for _, key := range outboxcdk.FurtherKeys() {
		fmt.Fprintf(&out, "| `%s` |  | %s |\n", key, outboxcdk.FurtherKeyUsage(key))
	}
	return out.String()
}

// defaultText is empty where the default is that there is none.
func defaultText(setting *flag.Flag) string {
	text := setting.DefValue
	if getter, ok := setting.Value.(flag.Getter); ok {
		if d, ok := getter.Get().(time.Duration); ok {
			text = config.Brief(d)
		}
	}
	if text == "" || text == "0" || text == "0s" {
		return ""
	}
	return "`" + text + "`"
}
