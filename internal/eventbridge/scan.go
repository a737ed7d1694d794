package eventbridge

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLevels is how deep EventBridge reads a detail.
const maxLevels = 1000

// flaw is why EventBridge would not take a JSON text. It names a place and quotes nothing.
type flaw struct {
	reason string
	offset int
}

func (f *flaw) String() string { return fmt.Sprintf("%s at byte %d", f.reason, f.offset) }

// scanner reads JSON once and in place. It is here because encoding/json knows neither of EventBridge's limits, 64-bit
// integers and 1000 levels, and decoding would change numbers. Levels are counted, not recursed into: the stack stays flat
// whatever the text.
type scanner struct {
	text string
	pos  int
}

// scan checks that text is one JSON value of at most so many levels of arrays and objects.
func scan(text string, levels int) *flaw {
	// EventBridge, or the SDK before it, would put other characters in place of what is no UTF-8.
	if !utf8.ValidString(text) {
		return &flaw{"the text is no valid UTF-8", strings.IndexRune(text, utf8.RuneError)}
	}

	s := scanner{text: text}
	if f := s.value(levels); f != nil {
		return f
	}

	s.space()
	if s.pos < len(text) {
		return s.flaw("unexpected text after the value")
	}
	return nil
}

// value reads a value with everything in it.
func (s *scanner) value(levels int) *flaw {
	var open nesting
	for {
		inside, f := s.begin(&open, levels)
		if f != nil {
			return f
		}
		if inside {
			continue
		}
		if done, f := s.end(&open); done || f != nil {
			return f
		}
	}
}

// begin reads a scalar, or the opening of an array or object up to its first value: then it is inside.
func (s *scanner) begin(open *nesting, levels int) (inside bool, f *flaw) {
	s.space()

	c := s.peek()
	if c != '{' && c != '[' {
		return false, s.scalar(c)
	}
	if open.depth == levels {
		return false, s.flaw(fmt.Sprintf("it is nested deeper than the %d levels that EventBridge reads", maxLevels))
	}

	open.push(c == '{')
	s.pos++
	s.space()
	switch {
	case s.peek() == open.closing():
		return false, nil
	case c == '{':
		return true, s.key()
	default:
		return true, nil
	}
}

// end follows a value: it closes what closes there, and goes on to the next value if there is one.
func (s *scanner) end(open *nesting) (done bool, f *flaw) {
	for open.depth > 0 {
		s.space()
		switch s.peek() {
		case open.closing():
			s.pos++
			open.depth--
		case ',':
			s.pos++
			if open.inObject() {
				return false, s.key()
			}
			return false, nil
		default:
			return false, s.unexpected()
		}
	}
	return true, nil
}

// key reads a member's name and its colon.
func (s *scanner) key() *flaw {
	s.space()
	if s.peek() != '"' {
		return s.unexpected()
	}
	if f := s.str(); f != nil {
		return f
	}

	s.space()
	if s.peek() != ':' {
		return s.unexpected()
	}

	s.pos++
	return nil
}

func (s *scanner) scalar(first byte) *flaw {
	switch {
	case first == '"':
		return s.str()
	case first == '-' || isDigit(first):
		return s.number()
	case s.take("true") || s.take("false") || s.take("null"):
		return nil
	default:
		return s.unexpected()
	}
}

// str reads a string with its quotes.
func (s *scanner) str() *flaw {
	for i := s.pos + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.pos = i + 1
			return nil
		case c == '\\':
			n := escapeLength(s.text[i+1:])
			if n == 0 {
				return &flaw{"invalid escape in a string", i}
			}

			i += n
		case c < ' ':
			return &flaw{"control character in a string", i}
		}
	}

	s.pos = len(s.text)
	return s.unexpected()
}

// escapeLength is the length of a valid escape without its backslash, or 0.
func escapeLength(rest string) int {
	switch {
	case rest == "":
		return 0
	case strings.IndexByte(`"\/bfnrt`, rest[0]) >= 0:
		return 1
	case rest[0] == 'u' && len(rest) >= 5 && all(rest[1:5], isHex):
		return 5
	default:
		return 0
	}
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

// number reads a number. One without fraction and exponent is an integer, which has to fit 64 bits.
func (s *scanner) number() *flaw {
	start := s.pos
	s.take("-")
	if !s.take("0") && !s.digits() {
		return s.unexpected()
	}

	integer := s.text[start:s.pos]
	if s.take(".") && !s.digits() {
		return s.unexpected()
	}
	if s.take("e") || s.take("E") {
		_ = s.take("+") || s.take("-")
		if !s.digits() {
			return s.unexpected()
		}
	}
	if s.pos == start+len(integer) && !fitsInt64(integer) {
		return &flaw{"an integer does not fit 64 bits", start}
	}
	return nil
}

func fitsInt64(integer string) bool {
	if len(integer) < len("9223372036854775807") {
		return true
	}

	_, err := strconv.ParseInt(integer, 10, 64)
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
	for s.pos < len(s.text) && isSpace(s.text[s.pos]) {
		s.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// peek is the next byte, or 0 at the end: no JSON token begins with it.
func (s *scanner) peek() byte {
	if s.pos >= len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

func (s *scanner) unexpected() *flaw {
	if s.pos >= len(s.text) {
		return s.flaw("it is no JSON: unexpected end")
	}
	return s.flaw("it is no JSON: unexpected character")
}

func (s *scanner) flaw(reason string) *flaw { return &flaw{reason, s.pos} }

// nesting remembers for each open level whether it is an object.
type nesting struct {
	depth   int
	objects [maxLevels/64 + 1]uint64
}

func (n *nesting) push(object bool) {
	word, bit := n.depth/64, uint64(1)<<(n.depth%64)
	n.objects[word] &^= bit
	if object {
		n.objects[word] |= bit
	}

	n.depth++
}

func (n *nesting) inObject() bool {
	level := n.depth - 1
	return n.objects[level/64]&(1<<(level%64)) != 0
}

func (n *nesting) closing() byte {
	if n.inObject() {
		return '}'
	}
	return ']'
}
