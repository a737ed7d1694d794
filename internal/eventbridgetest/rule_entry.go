package eventbridgetest

import (
	"strings"
	"unicode/utf8"
)

const maxDetailType = 128

// entryError is what PutEvents says of one entry it does not take.
type entryError struct{ code, message string }

// checkEntry applies the rules whose violation fails this entry alone.
func checkEntry(e *wireEntry, detailOK bool) *entryError {
	switch {
	case text(e.Source) == "":
		return required("Source")
	case text(e.DetailType) == "":
		return required("DetailType")
	case e.Detail == nil:
		return required("Detail")
	case utf8.RuneCountInString(*e.DetailType) > maxDetailType:
		return invalid("DetailType", "DetailType is longer than 128 characters.")
	case strings.HasPrefix(*e.Source, "aws."):
		return &entryError{"NotAuthorizedForSourceException", "Not authorized for the source"}
	case !detailOK:
		return &entryError{"MalformedDetail", "Detail is malformed."}
	default:
		return nil
	}
}

func required(member string) *entryError { return invalid(member, member+" is a required argument.") }

func invalid(member, reason string) *entryError {
	return &entryError{"InvalidArgument", "Parameter " + member + " is not valid. Reason: " + reason}
}
