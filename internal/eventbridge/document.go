package eventbridge

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// timeLayout is RFC 3339 in UTC with microseconds, which is all that PostgreSQL keeps.
	timeLayout = "2006-01-02T15:04:05.000000Z"

	maxSequence = 20 // characters of a bigint
)

// document is JSON text under construction. It is written by hand since the payload is text already, and since this runs for
// every event: one allocation, of the right size.
type document struct{ strings.Builder }

// open writes what leads up to a value, as it is.
func (d *document) open(lead string) *document {
	d.WriteString(lead)
	return d
}

// optional writes a text that is left out when empty.
func (d *document) optional(lead, text string) {
	if text != "" {
		d.open(lead).text(text)
	}
}

// optionalRaw writes a value that is JSON already and left out when empty.
func (d *document) optionalRaw(lead, value string) {
	if value != "" {
		d.open(lead).WriteString(value)
	}
}

func (d *document) number(n int64) {
	var scratch [maxSequence]byte

	d.Write(strconv.AppendInt(scratch[:0], n, 10))
}

// paddedNumber is text, so that sorting it as text sorts it as a number.
func (d *document) paddedNumber(n int64) {
	var scratch [maxSequence]byte

	digits := strconv.AppendInt(scratch[:0], n, 10)
	zeros := maxSequence - len(digits)

	d.WriteByte('"')
	if n < 0 {
		d.WriteByte('-')
		digits = digits[1:]
	}

	d.WriteString("00000000000000000000"[:zeros])
	d.Write(digits)
	d.WriteByte('"')
}

func (d *document) time(t time.Time) {
	var scratch [64]byte

	text := append(scratch[:0], '"')
	text = t.UTC().AppendFormat(text, timeLayout)
	d.Write(append(text, '"'))
}

// text writes a JSON string. What is no UTF-8 becomes U+FFFD, as anywhere in Go.
func (d *document) text(text string) {
	d.WriteByte('"')

	start := 0
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				d.WriteString(text[start:i])
				d.escape(c)
				start = i + 1
			}

			i++
			continue
		}

		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			d.WriteString(text[start:i])
			d.WriteRune(utf8.RuneError)
			start = i + 1
		}

		i += size
	}

	d.WriteString(text[start:])
	d.WriteByte('"')
}

func (d *document) escape(c byte) {
	const hex = "0123456789abcdef"
	if c == '"' || c == '\\' {
		d.WriteByte('\\')
		d.WriteByte(c)
		return
	}

	d.WriteString(`\u00`)
	d.WriteByte(hex[c>>4])
	d.WriteByte(hex[c&0xf])
}
