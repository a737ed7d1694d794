package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// root is what a test makes a certificate of.
type root struct {
	name   string
	until  int // a year; 0: 2100
	leaf   bool
	forged bool // signed by another's key, under the root's own name
}

func (r root) make(t *testing.T) []byte {
	t.Helper()
	if r.until == 0 {
		r.until = 2100
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: r.name},
		NotBefore: time.Date(2021, time.May, 19, 0, 0, 0, 0, time.UTC),
		NotAfter:  time.Date(r.until, time.May, 19, 0, 0, 0, 0, time.UTC),
		IsCA:      !r.leaf, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if r.leaf {
		template.KeyUsage = x509.KeyUsageDigitalSignature
	}
	key := newKey(t)
	signer := key
	if r.forged {
		signer = newKey(t)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, &x509.Certificate{Subject: template.Subject}, key.Public(), signer)
	require.NoError(t, err)
	return raw
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

const (
	ireland = "Amazon RDS eu-west-1 Root CA RSA2048 G1"
	sydney  = "Amazon RDS ap-southeast-2 Root CA ECC384 G1"
	govern  = "Amazon RDS us-gov-west-1 Root CA RSA4096 G2"
)

func TestChoosesTheRootsOfDatabasesByName(t *testing.T) {
	t.Parallel()

	var all [][]byte
	for _, r := range []root{
		{name: ireland},
		{name: govern},
		{name: sydney},
		{name: sydney + " "},
		{name: "Amazon RDS eu-west-1 Root CA RSA4096 G1", until: 2045},
		{name: "Amazon RDS eu-west-1 2019 CA", until: 2024},
		{name: "Amazon RDS Beta us-east-1 Root CA RSA2048 G1"},
		{name: "Amazon RDS Preview us-east-2 Root CA ECC384 G1"},
		{name: "Amazon RDS eu-west-1 Subordinate CA RSA2048 G1.A.1", leaf: true},
		{name: "Amazon Root CA 1"},
	} {
		all = append(all, r.make(t))
	}
	all = append(all, all[0]) // once more

	chosen, err := choose(all)

	require.NoError(t, err)
	require.Equal(t, []string{sydney, ireland, govern}, names(chosen))
	slices.Reverse(all)
	again, err := choose(all)
	require.NoError(t, err)
	require.Equal(t, encode(chosen), encode(again), "the package's order makes no difference")
}

func names(roots []*x509.Certificate) (all []string) {
	for _, root := range roots {
		all = append(all, root.Subject.CommonName)
	}
	return all
}

func TestRefusesWhatOnlyBearsTheNameOfARoot(t *testing.T) {
	t.Parallel()

	for problem, all := range map[string][][]byte{
		ireland + ": x509: invalid signature: parent certificate cannot sign": {root{name: ireland, leaf: true}.make(t)},
		ireland + ": x509: ECDSA verification":                                {root{name: ireland, forged: true}.make(t)},
		"there are two of " + ireland:                                         {root{name: ireland}.make(t), root{name: ireland}.make(t)},
		"certificate 2: x509: ":                                               {root{name: ireland}.make(t), []byte("no certificate")},
		"there are none":                                                      {root{name: "Amazon Root CA 1"}.make(t)},
	} {
		_, err := choose(all)
		require.ErrorContains(t, err, problem)
	}
}

func TestFindsTheCertificatesOfAScript(t *testing.T) {
	t.Parallel()

	var script strings.Builder
	expected := [][]byte{root{name: ireland}.make(t), root{name: sydney}.make(t)}
	script.WriteString("exports.defaults = [\n")
	for _, raw := range expected {
		text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
		for line := range strings.Lines(text) {
			fmt.Fprintf(&script, "    '%s\\n' +\n", strings.TrimSuffix(line, "\n"))
		}
		script.WriteString("    '',\n")
	}
	script.WriteString("];\n")

	require.Equal(t, expected, certificates([]byte(script.String())))
}

// What is embedded is what would be chosen of it.
func TestTheEmbeddedRootsAreChosenAsTheyAre(t *testing.T) {
	t.Parallel()

	embedded, err := os.ReadFile("../roots.pem")
	require.NoError(t, err)

	chosen, err := choose(certificates(embedded))

	require.NoError(t, err)
	require.Equal(t, string(embedded), string(encode(chosen)))
	require.Len(t, chosen, bytes.Count(embedded, []byte("BEGIN CERTIFICATE")))
}

func TestRefusesAnotherArchive(t *testing.T) {
	t.Parallel()

	require.ErrorContains(t, check([]byte("another")), source+" has the SHA-512 ")
}
