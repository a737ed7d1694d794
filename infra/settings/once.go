package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// once is an error if an object of the file has a key twice, of which encoding/json
// would take the last without a word. What else is wrong with the file, parse says.
func once(path string, content []byte) error {
	w := &walk{decoder: json.NewDecoder(bytes.NewReader(content))}
	for {
		token, err := w.decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return nil //nolint:nilerr // parse says it too, and where
		}
		if key, ok := w.seen(token); ok {
			return fmt.Errorf("settings file %s has the key %q twice, the second time at line %d: expected each key once",
				path, key, lineAt(content, w.decoder.InputOffset()))
		}
	}
}

// walk goes through JSON token by token.
type walk struct {
	decoder *json.Decoder
	within  []*object // from the outside in; nil: a list
}

// object is one that has been begun.
type object struct {
	keys  map[string]bool
	value bool // a value is next, and no key
}

// seen reports a key that its object has had already.
func (w *walk) seen(token json.Token) (key string, again bool) {
	switch token {
	case json.Delim('}'), json.Delim(']'):
		w.within = w.within[:len(w.within)-1]
		return "", false
	}
	in := w.innermost()
	if in != nil && !in.value {
		key = token.(string) // in an object the decoder takes nothing else for a key
		again, in.keys[key], in.value = in.keys[key], true, true
		return key, again
	}
	if in != nil {
		in.value = false
	}
	w.begin(token)
	return "", false
}

func (w *walk) innermost() *object {
	if len(w.within) == 0 {
		return nil
	}
	return w.within[len(w.within)-1]
}

func (w *walk) begin(token json.Token) {
	switch token {
	case json.Delim('{'):
		w.within = append(w.within, &object{keys: map[string]bool{}})
	case json.Delim('['):
		w.within = append(w.within, nil)
	}
}
