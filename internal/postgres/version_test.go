package postgres_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// So that what is said to be tested on a version is.
func TestTheServerIsOfTheVersionAskedFor(t *testing.T) {
	t.Parallel()

	asked := os.Getenv("POSTGRES_VERSION")
	if asked == "" {
		t.Skip("POSTGRES_VERSION asks for none")
	}
	db := newDatabase(t)

	require.Equal(t, asked, db.text(t, "SELECT current_setting('server_version_num')::int / 10000"))
}
