package awsjson_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest/awsjson"
)

func TestOperation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ method, target, operation string }{
		"ReadsTheTarget":            {http.MethodPost, "AWSEvents.PutEvents", "PutEvents"},
		"LeavesOtherServicesAlone":  {http.MethodPost, "secretsmanager.GetSecretValue", ""},
		"LeavesOtherMethodsAlone":   {http.MethodGet, "AWSEvents.PutEvents", ""},
		"NeedsATarget":              {http.MethodPost, "", ""},
		"DoesNotTakeTheNameAsWhole": {http.MethodPost, "AWSEventsPutEvents", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{Method: c.method, Header: http.Header{"X-Amz-Target": {c.target}}}
			require.Equal(t, c.operation, awsjson.Operation(r, "AWSEvents"))
		})
	}
}

func TestError(t *testing.T) {
	t.Parallel()

	t.Run("HasAWSsShape", func(t *testing.T) {
		t.Parallel()
		err := &awsjson.Error{Status: 400, Code: "ValidationException", Message: `a "quoted" word`}
		require.JSONEq(t, `{"__type":"ValidationException","message":"a \"quoted\" word"}`, string(err.Body()))
	})

	t.Run("HasNoBodyWithoutCode", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, (&awsjson.Error{Status: 413}).Body())
	})
}
