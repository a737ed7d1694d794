package eventbridgetest

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth of what is read; PutEvents "will only process nested JSON up to 1000 levels deep". A detail itself is level one.
const maxDepth = 1000

// scanner reads JSON in one pass. encoding/json needs two, and hides what EventBridge looks at: the size of integers and the
// depth. The stand-in shares the processor with the relay that is being measured.
type scanner struct {
	text string
	pos  int
}

func (s *scanner) end() bool {
	s.space()
	return s.pos == len(s.text)
}

// value reads any value that lies depth levels deep.
func (s *scanner) value(depth int) bool {
	switch c := s.peek(); {
	case c == '{':
		return s.object(depth+1, func(string) bool { return s.value(depth + 1) })
	case c == '[':
		return s.array(depth+1, func() bool { return s.value(depth + 1) })
	case c == '"':
		_, ok := s.str()
		return ok
	case c == '-' || isDigit(c):
		return s.number()
	default:
		return s.take("true") || s.take("false") || s.take("null")
	}
}

// object calls member for each key, as written with its quotes, to read the value.
func (s *scanner) object(depth int, member func(key string) bool) bool {
	return s.list(depth, '{', '}', func() bool {
		key, ok := s.str()
		if !ok {
			return false
		}

		s.space()
		if !s.take(":") {
			return false
		}

		s.space()
		return member(key)
	})
}

func (s *scanner) array(depth int, element func() bool) bool {
	return s.list(depth, '[', ']', element)
}

// list reads comma-separated parts from an opening to its closing bracket.
func (s *scanner) list(depth int, opening, closing byte, part func() bool) bool {
	if depth > maxDepth || s.peek() != opening {
		return false
	}

	s.pos++
	s.space()
	if s.peek() == closing {
		s.pos++
		return true
	}
	for part() {
		s.space()
		if s.peek() == closing {
			s.pos++
			return true
		}
		if !s.take(",") {
			return false
		}

		s.space()
	}
	return false
}

// str returns the string with its quotes and escapes.
func (s *scanner) str() (string, bool) {
	if s.peek() != '"' {
		return "", false
	}
	for i := s.pos + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			quoted := s.text[s.pos : i+1]
			s.pos = i + 1
			return quoted, true
		case c < ' ':
			return "", false
		case c == '\\':
			n := escapeLength(s.text[i+1:])
			if n == 0 {
				return "", false
			}

			i += n
		}
	}
	return "", false
}

// escapeLength is the length of a valid escape after its backslash, or 0.
func escapeLength(rest string) int {
	switch {
	case rest == "":
		return 0
	case strings.IndexByte(`"\/bfnrt`, rest[0]) >= 0:
		return 1
	case rest[0] == 'u' && len(rest) >= 5 && isHex(rest[1:5]):
		return 5
	default:
		return 0
	}
}

// number reads a JSON number. One without fraction and exponent is an integer, which has to fit 64 bits.
func (s *scanner) number() bool {
	start := s.pos
	s.take("-")
	if !s.take("0") && !s.digits() {
		return false
	}

	integer := s.pos
	if s.take(".") && !s.digits() {
		return false
	}
	if s.take("e") || s.take("E") {
		_ = s.take("+") || s.take("-")
		if !s.digits() {
			return false
		}
	}
	return s.pos > integer || fitsInt64(s.text[start:integer])
}

func fitsInt64(number string) bool {
	if len(number) < len("9223372036854775807") {
		return true
	}

	_, err := strconv.ParseInt(number, 10, 64)
	return err == nil
}

func (s *scanner) digits() bool {
	start := s.pos
	for isDigit(s.peek()) {
		s.pos++
	}
	return s.pos > start
}

func (s *scanner) take(token string) bool {
	if !strings.HasPrefix(s.text[s.pos:], token) {
		return false
	}

	s.pos += len(token)
	return true
}

func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end: no JSON token begins with it.
func (s *scanner) peek() byte {
	if s.pos == len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(digits string) bool {
	_, err := strconv.ParseUint(digits, 16, 32)
	return err == nil
}

// unquote returns a copy, so that what is kept does not keep the whole request. A half surrogate becomes U+FFFD.
func unquote(quoted string) string {
	if quoted == "" {
		return ""
	}

	rest := quoted[1 : len(quoted)-1]
	if strings.IndexByte(rest, '\\') < 0 {
		return strings.Clone(rest)
	}

	plain := make([]byte, 0, len(rest))
	for {
		i := strings.IndexByte(rest, '\\')
		if i < 0 {
			return string(append(plain, rest...))
		}

		plain, rest = unescape(append(plain, rest[:i]...), rest[i+1:])
	}
}

// unescape adds the character whose escape (after the backslash) begins rest, and returns what follows.
func unescape(plain []byte, rest string) ([]byte, string) {
	if rest[0] != 'u' {
		const letters, meaning = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		return append(plain, meaning[strings.IndexByte(letters, rest[0])]), rest[1:]
	}

	r, rest := unit(rest[1:]), rest[5:]
	if utf16.IsSurrogate(r) && strings.HasPrefix(rest, `\u`) {
		if pair := utf16.DecodeRune(r, unit(rest[2:])); pair != utf8.RuneError {
			return utf8.AppendRune(plain, pair), rest[6:]
		}
	}
	return utf8.AppendRune(plain, r), rest
}

// unit reads the four digits of an escape.
func unit(digits string) rune {
	n, _ := strconv.ParseUint(digits[:4], 16, 16) // str has checked them
	return rune(n)
}
