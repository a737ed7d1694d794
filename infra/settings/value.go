package settings

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"outboxrelay/internal/config"
)

// list is a list of texts: as JSON, or with commas in between.
type list struct{ texts *[]string }

// String has commas in between.
func (l list) String() string {
	if l.texts == nil {
		return ""
	}
	return strings.Join(*l.texts, ",")
}

// Set takes both forms.
func (l list) Set(text string) error {
	if strings.HasPrefix(text, "[") {
		return l.unmarshal(text)
	}
	if strings.HasPrefix(text, "{") {
		return errors.New("an object")
	}
	*l.texts = nil
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l.texts = append(*l.texts, part)
		}
	}
	return nil
}

// unmarshal refuses null too, which would be read as an empty text.
func (l list) unmarshal(text string) error {
	if err := json.Unmarshal([]byte(text), l.texts); err != nil {
		return err
	}
	if slices.Contains(*l.texts, "") {
		return errors.New("an empty text")
	}
	return nil
}

// pairs are texts by keys: as a JSON object, or as key=text with commas in between.
type pairs struct{ texts *map[string]string }

// String is for the default, which is none.
func (p pairs) String() string { return "" }

// Set takes both forms.
func (p pairs) Set(text string) error {
	if strings.HasPrefix(text, "{") {
		return json.Unmarshal([]byte(text), p.texts)
	}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		if _, twice := (*p.texts)[key]; !ok || twice {
			return errors.New("no =, or a key twice")
		}
		(*p.texts)[key] = strings.TrimSpace(value)
	}
	return nil
}

// boolean is true or false in these words only, as the functions read it too: 1 and
// yes would be two more ways to say the same.
type boolean struct{ is *bool }

// String is for the default.
func (b boolean) String() string { return strconv.FormatBool(b.is != nil && *b.is) }

// Set takes no other word.
func (b boolean) Set(text string) error {
	if text != "true" && text != "false" {
		return errors.New("neither true nor false")
	}
	*b.is = text == "true"
	return nil
}

// member is one text of a map.
type member struct {
	texts *map[string]string
	key   string
}

// String is for the default, which is none.
func (m member) String() string { return "" }

// Set makes the map where there is none.
func (m member) Set(text string) error {
	if text == "" {
		return nil
	}
	if *m.texts == nil {
		*m.texts = map[string]string{}
	}
	(*m.texts)[m.key] = text
	return nil
}

// kind says what a setting takes, in the words of an error about a text.
func kind(value flag.Value, text string) string {
	switch value.(type) {
	case list:
		return `a list, as a,b or in a file ["a", "b"]`
	case pairs:
		return `key=text,... with each key once, or in a file {"key": "text"}`
	case boolean:
		return "true or false"
	}
	if getter, ok := value.(flag.Getter); ok {
		switch getter.Get().(type) {
		case int:
			return "a whole number"
		case time.Duration:
			return durationKind(text)
		}
	}
	return "a text"
}

func durationKind(text string) string {
	const expected = "a duration with its unit (s, m, h)"
	if hint := config.Days(text); hint != "" {
		return expected + ": " + hint
	}
	return expected
}

// setFlag says what was expected instead, and leaves the default where it was: a
// number that is none is not to be complained of for being 0.
func setFlag(setting *flag.Flag, text string) error {
	if err := setting.Value.Set(text); err != nil {
		_ = setting.Value.Set(setting.DefValue)
		return fmt.Errorf("%s is %q: expected %s", setting.Name, text, kind(setting.Value, text))
	}
	return nil
}
