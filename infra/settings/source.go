package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// given returns all that is given, by keys: what the file has, and the context on
// top of that.
func given(context map[string]any) (map[string]any, error) {
	values, err := fromFile(context[fileKey])
	if err != nil {
		return nil, err
	}
	for key, value := range context {
		if key != fileKey {
			values[key] = value
		}
	}
	return values, nil
}

// fromFile reads the file that is named, or the standard one if there is one.
func fromFile(name any) (map[string]any, error) {
	path, named := name.(string)
	if !named {
		path = standardFile
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("settings file: %w", err)
	}
	return parse(path, content)
}

func parse(path string, content []byte) (map[string]any, error) {
	if err := once(path, content); err != nil {
		return nil, err
	}
	values := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		return nil, fmt.Errorf("settings file %s is no JSON object, at line %d: %w", path, lineAt(content, offset(err, int64(len(content)))), err)
	}
	if decoder.More() {
		return nil, fmt.Errorf("settings file %s goes on after its JSON object, at line %d", path, lineAt(content, decoder.InputOffset()))
	}
	return values, nil
}

// offset is where something is wrong: where the content ends, unless it is known.
func offset(err error, end int64) int64 {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Offset
	case errors.As(err, &kind):
		return kind.Offset
	}
	return end
}

func lineAt(content []byte, offset int64) int {
	return 1 + bytes.Count(content[:offset], []byte("\n"))
}

// text is a value in the form that the command line has: a list or an object as
// JSON.
func text(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case bool:
		return strconv.FormatBool(value), nil
	case json.Number:
		return value.String(), nil
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64), nil
	case []any, map[string]any:
		list, err := json.Marshal(value)
		return string(list), err
	}
	return "", errors.New("is null: expected a value, or none of this key at all")
}
