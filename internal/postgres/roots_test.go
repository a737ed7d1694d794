package postgres

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lasts is until when every root has to be good: longer than anybody uses this
// version. It is no time from now, for which this test would fail one day by itself.
var lasts = time.Date(2046, time.January, 1, 0, 0, 0, 0, time.UTC)

func TestTheRootsAreThoseOfRDS(t *testing.T) {
	t.Parallel()

	var names []string
	for _, root := range embeddedRoots(t) {
		name := root.Subject.CommonName
		require.Regexp(t, `^Amazon RDS [a-z]+-[a-z]+-\d Root CA (RSA2048|RSA4096|ECC384) G1$`, name)
		require.True(t, root.IsCA, name)
		require.NoError(t, root.CheckSignatureFrom(root), name)
		require.True(t, root.NotBefore.Before(lasts) && root.NotAfter.After(lasts), "%s ends on %s", name, root.NotAfter)
		_, err := root.Verify(x509.VerifyOptions{Roots: roots(), CurrentTime: lasts})
		require.NoError(t, err, name)
		require.Contains(t, string(rootsPEM), fmt.Sprintf("# %s, until %s\n", name, root.NotAfter.Format(time.DateOnly)))
		names = append(names, name)
	}
	require.Len(t, names, 81, "three in each of 27 regions")
	require.True(t, slices.IsSorted(names))
	require.Equal(t, names, slices.Compact(slices.Clone(names)), "none is there twice")
}

// embeddedRoots also sees that there is nothing that does not parse.
func embeddedRoots(t *testing.T) (found []*x509.Certificate) {
	t.Helper()
	for rest := rootsPEM; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		root, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		found = append(found, root)
	}
	require.Len(t, found, bytes.Count(rootsPEM, []byte("BEGIN CERTIFICATE")))
	return found
}
