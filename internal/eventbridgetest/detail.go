package eventbridgetest

import "unicode/utf8"

// detailScan is what reading a detail once tells: whether it is an object that EventBridge takes, and the identity in it.
type detailScan struct {
	scanner

	ok             bool
	id, metadataID string
}

func scanDetail(text string) detailScan {
	s := detailScan{scanner: scanner{text: text}}
	s.space()
	s.ok = utf8.ValidString(text) && s.object(1, s.member) && s.end()
	return s
}

func (s *detailScan) member(key string) bool {
	switch {
	case key == `"metadata"` && s.peek() == '{':
		return s.object(2, s.metadata)
	case key == `"id"` && s.peek() == '"':
		return s.keep(&s.id)
	default:
		return s.value(1)
	}
}

func (s *detailScan) metadata(key string) bool {
	if key == `"id"` && s.peek() == '"' {
		return s.keep(&s.metadataID)
	}
	return s.value(2)
}

// keep reads the string ahead.
func (s *scanner) keep(to *string) bool {
	quoted, ok := s.str()
	*to = unquote(quoted)
	return ok
}
