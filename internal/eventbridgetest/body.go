package eventbridgetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

var errTooLarge = errors.New("body too large")

// bodies are used again: at thousands of requests a second the garbage would be felt by what is being measured.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readBody reads the whole body, and fails with errTooLarge beyond limit. What is beyond is read too, and thrown away: a client
// that is still sending would not see the answer. The buffer goes back by releaseBody.
func readBody(body io.Reader, limit int) (*bytes.Buffer, error) {
	buffer, _ := bodies.Get().(*bytes.Buffer)
	buffer.Reset()
	if _, err := buffer.ReadFrom(io.LimitReader(body, int64(limit))); err != nil {
		return buffer, fmt.Errorf("read body: %w", err)
	}

	beyond, err := io.Copy(io.Discard, body)
	if err != nil {
		return buffer, fmt.Errorf("read body: %w", err)
	}
	if beyond > 0 {
		return buffer, errTooLarge
	}
	return buffer, nil
}

func releaseBody(buffer *bytes.Buffer) { bodies.Put(buffer) }
